# An MCP server over standard input and output that lists its tools in two pages, asks something in between, and talks beside.
say() { printf '%s\n' "$1"; }
while read -r line; do
  case "$line" in
    *'"initialize"'*)
      say 'not a message'
      say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"Desk Server","version":"1"}}}' ;;
    *'"notifications/initialized"'*)
      say '{"jsonrpc":"2.0","id":"p","method":"ping"}'
      say '{"jsonrpc":"2.0","method":"notifications/message","params":{}}' ;;
    *'"cursor":"two"'*)
      say '{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"desk server","inputSchema":{"type":"object"}},{"name":"read.file","inputSchema":{"type":"object"}},{"name":"odd","inputSchema":{"type":"object","properties":{"at":{"type":"string","pattern":"(?=x)"}}}},{"inputSchema":{"type":"object"}}]}}' ;;
    *'"tools/list"'*)
      say '{"jsonrpc":"2.0","id":"r","method":"roots/list"}'
      say '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"read-file","title":"Read a file","description":"Reads.\n\nAll of it.","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"path":{"type":"string"},"tail":{"type":"number"}},"required":["path"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"text":{"type":"string"}}},"annotations":{"readOnlyHint":true},"_meta":{"x":1}}],"nextCursor":"two"}}' ;;
    *'"id":"p"'*) ;;
    *'"id":"r"'*) ;;
  esac
done
