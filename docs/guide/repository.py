"""A preprocessor of mdBook for chapters that stand elsewhere in the repository.

In: the book, as mdBook hands it over on standard input. Out: the same. A chapter from outside of `src`, such as `../../cases.md`, gets an address inside
of the site, and every link leads from chapter to chapter. A link to another file of the repository leads to where `url` of `book.toml` shows it; without
`url` its text stays and the link goes. A link to a file that is not there ends the build.
"""

import json
import os.path
import re
import sys

# code is left alone, and the text of a link may have code and brackets in it
LINK_OR_CODE = re.compile(r"(?P<code>`+[^`]*`+)|\[(?P<text>(?:`[^`]*`|\[[^\]]*\]|[^\[\]`])*)\]\((?P<target>[^()\s]+)\)")


def chapters(items):
    for item in items:
        if isinstance(item, dict) and (chapter := item.get("Chapter")):
            yield chapter
            yield from chapters(chapter["sub_items"])


def site_path(source, path):
    """Where the page of a file stands in the site: as in `src`, or under `pages` by its whole name."""
    if not path.startswith(".."):
        return path
    name = os.path.relpath(source).removesuffix(".md").removesuffix("/README")
    return "pages/" + name.removeprefix("docs/").replace("/", "-") + ".md"


def outside_of_code(text, rewrite):
    is_code = False
    for line in text.split("\n"):
        if line.startswith("```"):
            is_code = not is_code
            yield line
        else:
            yield line if is_code else LINK_OR_CODE.sub(rewrite, line)


def main():
    context, book = json.load(sys.stdin)
    root = context["root"]
    os.chdir(os.path.join(root, "../.."))
    folder = os.path.join(root, "src")
    url = context["config"]["preprocessor"]["repository"].get("url")
    known = {}
    for chapter in chapters(book["items"]):
        source = os.path.normpath(os.path.join(folder, chapter["path"]))
        chapter["path"] = known[source] = site_path(source, chapter["path"])
        chapter["source"] = source
    for chapter in chapters(book["items"]):
        source, here = chapter.pop("source"), os.path.dirname(chapter["path"])

        def rewrite(found):
            target, text = found["target"], found["text"]
            if found["code"] or re.match(r"[a-z]+:|#", target):
                return found[0]
            path, mark, anchor = target.partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(source), path))
            if path in known:
                return f"[{text}]({os.path.relpath(known[path], here or '.')}{mark}{anchor})"
            if not os.path.exists(path):
                sys.exit(f"{source}: there is no `{target}`")
            return f"[{text}]({url}/{os.path.relpath(path)}{mark}{anchor})" if url else text

        chapter["content"] = "\n".join(outside_of_code(chapter["content"], rewrite))
    json.dump(book, sys.stdout)


if sys.argv[1:2] != ["supports"]:
    main()
