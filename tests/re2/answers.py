"""Writes patterns, texts and the answers of RE2 (the package google-re2) as JSON lines.

    answers.py --table > tests/data/re2/answers.jsonl      the recorded table
    answers.py --patterns 40000 > answers.jsonl            generated patterns, five texts each
    answers.py --sources DIR > answers.jsonl               the pairs in the tests of a checkout of RE2

A row is {"pattern", "texts", "answers"}; answers are null if RE2 rejects the pattern, else one pair for each text: whether the
pattern is found, and the text with the first match marked as <match|group 1|group 2>.
"""

import argparse
import json
import pathlib
import random
import re
import sys

import re2

OPTIONS = re2.Options()
OPTIONS.log_errors = False
OPTIONS.max_mem = 1 << 30
BACKSLASH = "\\"

# Each line is a pattern of a rule of the syntax; texts are added for all of them.
TABLE = r"""
a|b
\d+
\D
\w+
\W
\s
\S
\bx\b
\Bx
[\d]
[^\d]
[^\D\d]
[\w-]
[a-z&&x]
[a&&b]
[a--b]
[a~~b]
[[]
[[a]
[[a-c]]
[a[bc]d]
[]a]
[^]a]
[]
[^]
[a-]
[-a]
[a-b-c]
[--a]
[---]
[a\]b]
[\^a]
[z-a]
[a-\d]
[\d-z]
[\b]
[\A]
[\Q.\E]
[\pL]
[^\pL]
[\PN]
[\p{Greek}x]
[[:alpha:]]
[[:^alpha:]]
[[:word:]_]
[[:punct:]]
[[:space:]]
[[:graph:]]
[[:print:]]
[[:cntrl:]]
[[:blank:]]
[[:ascii:]]
[[:xdigit:]]
[[:lower:]]
(?i)[[:lower:]]
(?i)[[:^lower:]]
[[:foo:]]
[[::]]
[[:alpha:]
[[:alpha]
[:alpha:]
[[.a.]]
[[=a=]]
[[:
a[
a[b
a[^
\pN
\PN
\pL
\p{L}
\p{Lu}
\P{Lu}
\p{^Lu}
\P{^Lu}
(?i)\p{Lu}
(?i)\P{Lu}
(?i)[^\p{Lu}]
\p{Greek}
\p{greek}
\p{Grek}
\p{Letter}
\p{Any}
\P{Any}
\p{any}
\p{C}
\p{Cn}
\p{Cs}
\p{Cc}
\p{Cf}
\p{LC}
\p{Z}
\p{Sc}
\p{Script=Greek}
\p{gc=L}
\p{}
\p{^}
\p
\p{L
\pé
\Q.*\E
\Qa+
\Q\E*
a\Q\E*
a\Qb\Ec
\Qa\\E
\E
\Q(\E\(
\C
\X
\Z
a\z
\A
\Aa
\z
\G
\K
\R
\h
\e
\u0041
\c
\_
\-
\<
\>
\/
\"
\ 
\é
\8
\0
\00
\07
\012
\101
\1
\12
\18
\123
\777
\400
(a)\1
(a)\2
\x41
\x4
\x
\xg0
\x{41}
\x{263a}
\x{}
\x{4
\x{g}
\x{10FFFF}
\x{110000}
\x{D800}
\x{000000000041}
[\x{D7FF}-\x{E000}]
[\x{D800}-\x{DFFF}]
[^\x{D800}-\x{DFFF}]
[^\x00-\x{10FFFF}]
\a
\f
\n
\r
\t
\v
.
(?s).
(?s)a.b
a.b
(?-s).
^a
a$
^a$
^$
(?m)^a
(?m)a$
(?m)^$
(?m)\Aa
(?m)a\z
$a
a^
^*
$+
\b*
\b+
(?:^)*a
(?i)straße
(?i)k
(?i)[k]
(?i)[^k]
(?i)s
(?i)ſ
(?i)\w
(?i)\W
(?i)[\W]
(?i)[^\w]
(?i)K
(?i)é
(?i)σ
(?i)µ
(?i)ǆ
(?i)[a-z]+
(?i)a(?-i)b
(?i:a)b
(?i-s:a.b)
(?i)(?s)a.b
(?U)a+
(?U)a+?
(?U:a*)a
(?U)a{1,2}
a(?i)b|c
(a(?i)b)c
(?imsU)a
(?i-msU)a
(?)a
(?:)
(?-)a
(?--i)a
(?i-)a
(?x)a
(?u)a
(?a)a
(?^)a
(?i
(?
(?:a
(?P<n>a)
(?<n>a)
(?'n'a)
(?P<n
(?P<>a)
(?P<n-m>a)
(?P<1n>a)
(?P<é>a)
(?P<n>a)(?P<n>b)
(?P=n)
(?P>n)
(?Pn)
(?<
(?P<
(?#a)
(?=a)
(?!a)
(?<=a)
(?<!a)
(?>a)
(?|a)
(?R)
(?1)
(?&n)
(?(1)a|b)
a*
a+
a?
a*?
a+?
a??
a**
a*+
a++
a?+
a+*
a???
a{2}{3}
a{2}*
a*{2}
(?:a*)*
(?:a*)+
(?:a+)?
(?:a?)*
(a*)*
(a*)+
(a|b)*
(|a)*
(|a)+
(a||b)
(a|)
()
()*
(a)|b
(a)|(b)
((a)|b)+
(a+|b)+
(a)(b)?(c)?
(?:(a)|b)*
(a){0}b
(a){0}(b)
(a){2}
a{0}
a{0,0}
a{1}
a{2}
a{2,}
a{2,3}
a{2,3}?
a{,2}
a{x}
a{
a{}
a{1
a{1,
a{1,2
a{1,x}
a{ 1}
a{1 }
a{01}
a{1,02}
{
{2}
}
a}
x{2}y{
a{3,2}
a{1000}
a{1001}
a{1000,}
a{1,1000}
a{0,1001}
a{99999999999}
(?:a{10}){100}
(?:a{10}){101}
(?:a{2,}){500}
(?:a{2,}){501}
(?:a{32}){33}
((a{10}){10}){10}
((a{10}){10}){11}
(?:a{0}){1000}
*
+
?
*a
|*
(*)
(|*)
(?i)*
a(?i)*
^*a
|
||
a|
|a
(
)
a)
(a
((a)
(a))
\
a\
[\
[a\]
日本
[日-本]+
[^日]
😀
[😀-😂]
.{2}
^.{2}$
a.*b
a.*?b
(.*)c(.*)
(.*?)c(.*)
(^|/)([.]env|id_rsa)
^(?:GET|POST) /
^[a-z0-9-]+\.example\.com$
[0-9]{3}-[0-9]{2}-[0-9]{4}
\b\d{3}\b
(?i)\bdrop\s+table\b
(?i)select.+from
"""

TEXTS = [
    "", "a", "b", "ab", "aab", "xaby", "abc", "A", "AB", "a\nb", "\n", "a\n", "K", "k", "\u212a", "s", "S", "ſ", "_", "-", "]", "^",
    "&", "[", "~", "0", "12", "٣", " ", "\t", "\v", "\x85", "\u00a0", "x", "{", "a{x}", "a{,2}", "é", "É", "σς", "µμ", "ß", "Ǆǅǆ",
    "日本", "😁", ".*", "a.b", "aaa", "aaaa", "$", "€", "\u200d", "\ufffd", "\ue000", "\u0378", "a c b", "/.env", "x.example.com",
    "DROP  TABLE t", "select a from b", "123-45-6789", "\\", "/", '"', "\x07", "\x7f", "abab", "bab", "straSSe", "STRASSE", "a]",
]


def answer(pattern, texts):
    try:
        compiled = re2.compile(pattern, OPTIONS)
    except re2.error:
        return None
    answers = []
    for text in texts:
        match = compiled.search(text)
        if match is None:
            answers.append([False, text])
            continue
        groups = "".join("|" + (group or "") for group in match.groups()[:9])
        marked = text[: match.start()] + "<" + match.group(0) + groups + ">" + text[match.end() :]
        answers.append([True, marked])
    return answers


def write(pattern, texts):
    # `\C` is rejected on purpose, and `\B` is not tested between the bytes of a character
    if r"\C" in pattern and pattern != r"\C":
        return
    texts = [text for text in texts if r"\B" not in pattern or text.isascii()]
    answers = answer(pattern, texts) if pattern != r"\C" else None
    row = {"pattern": pattern, "texts": texts if answers is not None else [], "answers": answers}
    print(json.dumps(row, ensure_ascii=False))


def table(rng):
    for pattern in TABLE.strip("\n").split("\n"):
        near = [text for text in TEXTS if set(text) & set(pattern)]
        texts = rng.sample(near, min(4, len(near))) + rng.sample(TEXTS, 4)
        write(pattern, list(dict.fromkeys(texts)))


class Generator:
    """Patterns that are mostly accepted, of few characters, so that texts of these are often matched."""

    CHARACTERS = ["a", "b", "c", "k", "K", "s", "S", "0", "7", "_", "-", " ", "\n", "é", "É", "ſ", "\u212a", "σ", "日", "😀", "ß", "\u0345"]
    ATOMS = [
        r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\b", r"\B", r"\A", r"\z", r"\pL", r"\PL", r"\pN", r"\p{Greek}", r"\P{Latin}",
        r"\p{^Lu}", r"\p{Ll}", r"\P{^Ll}", r"\p{Han}", r"\p{Any}", r"\x41", r"\x{e9}", r"\x{1F600}", r"\n", r"\t", r"\141", r"\060",
        r"\Qa.b\E", r"\Q*\E", r"\Q\E", r"\.", r"\_", r"\-", ".", ".", "^", "$", "{", "}", "]", "&&", "--", "~~", "#",
    ]
    BROKEN = ["(", ")", "[", "]", "*", "+", "?", "{", "}", "{2}", "{1001}", "|", "\\", r"\Z", r"\1", r"\C", "(?=", "(?<", "(?P<", "(?x)", "[:alpha:]", "(?i", ":", "-"]
    ITEMS = [r"\d", r"\W", r"\s", r"\S", r"\pL", r"\P{Greek}", "[:alpha:]", "[:^digit:]", "[:punct:]", "[:word:]", "&&", "--", "~~", "[", r"\]", r"\\", "^", "-"]

    def __init__(self, rng):
        self.rng = rng

    def pattern(self):
        rng = self.rng
        pattern = self.alternation(rng.randint(0, 3))
        if rng.random() < 0.15:
            at = rng.randint(0, len(pattern))
            pattern = pattern[:at] + rng.choice(self.BROKEN) + pattern[at:]
        if rng.random() < 0.05 and pattern:
            at = rng.randrange(len(pattern))
            pattern = pattern[:at] + pattern[at + 1 :]
        return pattern

    def alternation(self, depth):
        return "|".join(self.row(depth) for _ in range(self.rng.choice([1, 1, 1, 2, 3])))

    def row(self, depth):
        return "".join(self.repeated(depth) for _ in range(self.rng.choice([0, 1, 1, 2, 3, 4])))

    def repeated(self, depth):
        rng = self.rng
        part = self.part(depth)
        if rng.random() < 0.35:
            part += rng.choice(["*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{1,}", "{1,3}?", "{0}", "{,2}", "{x}", "{02}", "**", "{40}"])
        return part

    def part(self, depth):
        rng = self.rng
        kind = rng.random()
        if depth and kind < 0.35:
            opening = rng.choice(["(", "(", "(?:", "(?i:", "(?s:", "(?m:", "(?U:", "(?-i:", "(?i-s:", "(?P<n>", "(?<m>"])
            return opening + self.alternation(depth - 1) + ")"
        if kind < 0.4:
            return rng.choice(["(?i)", "(?s)", "(?m)", "(?U)", "(?-i)", "(?im-s)", "(?)"])
        if kind < 0.55:
            return self.bracket()
        if kind < 0.7:
            return rng.choice(self.ATOMS)
        return re2.escape(rng.choice(self.CHARACTERS)) if rng.random() < 0.3 else rng.choice(self.CHARACTERS)

    def bracket(self):
        rng = self.rng
        items = []
        for _ in range(rng.randint(1, 4)):
            kind = rng.random()
            if kind < 0.4:
                items.append(rng.choice(self.CHARACTERS))
            elif kind < 0.65:
                ends = sorted(rng.sample(self.CHARACTERS, 2))
                items.append("-".join(ends if rng.random() < 0.97 else ends[::-1]))
            else:
                items.append(rng.choice(self.ITEMS))
        return "[" + rng.choice(["", "", "^"]) + "".join(items) + "]"

    def text(self, pattern):
        rng = self.rng
        signs = self.CHARACTERS + list(pattern) + ["A", "*", ".", "{", "[", "&"]
        return "".join(rng.choice(signs) for _ in range(rng.randint(0, 10)))


def generated(rng, patterns):
    generator = Generator(rng)
    for _ in range(patterns):
        pattern = generator.pattern()
        write(pattern, [generator.text(pattern) for _ in range(5)])


def unescaped(literal):
    """The value of a string literal of C++."""
    return literal.encode("latin-1", "backslashreplace").decode("unicode_escape").encode("latin-1").decode("utf-8")


def of_sources(sources, rng):
    literal = r'"((?:[^"\\\n]|\\.)*)"'
    testing = pathlib.Path(sources) / "re2" / "testing"
    for file in sorted(testing.glob("*_test.cc")):
        source = re.sub(r'"\s*\n?\s*"', "", file.read_text())
        values = []
        for found in re.findall(literal, source):
            try:
                values.append(unescaped(found))
            except (UnicodeError, ValueError):
                continue
        for at, pattern in enumerate(values):
            texts = values[at + 1 : at + 4] + rng.sample(TEXTS, 3)
            write(pattern, [text for text in texts if len(text) < 1000])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--patterns", type=int, default=0)
    parser.add_argument("--sources")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    if arguments.table:
        table(rng)
    generated(rng, arguments.patterns)
    if arguments.sources:
        of_sources(arguments.sources, rng)


if __name__ == "__main__":
    main()
