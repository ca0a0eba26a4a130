# A server that reads and never answers.
while read -r line; do :; done
