//! Programs whose arguments are known: which are options, which are files, and what becomes of the files.
//!
//! A row holds what GNU, BSD and BusyBox programs have in common; `sed -i` is that of GNU and BusyBox, as that of BSD takes its first operand for the end of a name. An option that one of them gives a value, and another one does not, is written as an option
//! without a value, so that the word behind it counts as a file. An option that no row has is said to be unknown.

/// What becomes of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It is no file: a number, a pattern, a format.
    Text,
    /// A pattern that is given as an option, so that each operand is a file.
    Pattern,
    /// A file with patterns, so that each operand is a file.
    Patterns,
    /// A file or folder that is read.
    Read,
    /// A file or folder that is written, made or removed.
    Write,
    /// A folder into which each operand is written.
    Into,
}

/// What becomes of the words that are no options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    /// All words, options among them, are text.
    Words,
    /// All words that do not begin as an option are files that are read.
    Tested,
    /// Each is used so.
    Each(Use),
    /// The first one is text, unless an option has given a pattern; each other one is used so.
    AfterFirst(Use),
    /// The last one is written, each other one is read.
    LastWritten,
    /// Each is written, as a hard link and its file are one; a single one is linked into the folder of the command.
    Linked,
    /// The first one is read, the second one is written.
    FromTo,
    /// It is the folder of all commands behind it.
    Folder,
    /// They begin a search, and an expression follows.
    Search,
    /// The first one edits the others, unless an option does.
    Script,
    /// They are a program, or code that a program runs.
    Code,
}

/// A program and its arguments.
#[derive(Debug)]
pub(super) struct Program {
    /// Its names.
    pub(super) names: &'static [&'static str],
    /// Letters of options without a value. All digits among them are a number, which is the whole word: the letter in `head -5c` has no value.
    pub(super) flags: &'static str,
    /// Long options that have no value, or one behind `=` that is no file.
    pub(super) long: &'static [&'static str],
    /// Options with a value, and its use.
    pub(super) values: &'static [(&'static str, Use)],
    /// Its operands.
    pub(super) operands: Operands,
    /// Whether it reads the folder in which it runs if no file is named.
    pub(super) reads_folder: bool,
}

/// The row of a program.
pub(super) fn program(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.names.contains(&name))
}

/// A program without options.
const PLAIN: Program =
    Program { names: &[], flags: "", long: &[], values: &[], operands: Each(Read), reads_folder: false };

use Operands::{AfterFirst, Code, Each, Folder, FromTo, LastWritten, Linked, Script, Search, Tested, Words};
use Use::{Into, Pattern, Patterns, Read, Text, Write};

const LINES: &[(&str, Use)] = &[("-n", Text), ("-c", Text), ("--lines", Text), ("--bytes", Text)];

static PROGRAMS: &[Program] = &[
    Program { names: &["echo", "true", "false", ":", "exit"], operands: Words, ..PLAIN },
    Program { names: &["test", "["], operands: Tested, ..PLAIN },
    Program { names: &["cd"], operands: Folder, ..PLAIN },
    // of text alone
    Program { names: &["pwd"], flags: "LP", operands: Each(Text), ..PLAIN },
    Program {
        names: &["basename", "dirname", "sleep", "whoami", "nproc", "groups", "printf"],
        operands: Each(Text),
        ..PLAIN
    },
    Program { names: &["uname"], flags: "asnrvmpio", operands: Each(Text), ..PLAIN },
    Program { names: &["id"], flags: "ugGnrz", operands: Each(Text), ..PLAIN },
    Program { names: &["which", "type"], flags: "a", operands: Each(Text), ..PLAIN },
    Program {
        names: &["seq"],
        flags: "w",
        values: &[("-f", Text), ("-s", Text)],
        operands: Each(Text),
        ..PLAIN
    },
    Program {
        names: &["date"],
        flags: "uR",
        values: &[("-d", Text), ("--date", Text)],
        operands: Each(Text),
        ..PLAIN
    },
    Program { names: &["tr"], flags: "cCds", operands: Each(Text), ..PLAIN },
    // read files
    Program {
        names: &["cat"],
        flags: "AbeEnstTuv",
        long: &["--number", "--show-all", "--squeeze-blank", "--show-ends", "--show-tabs"],
        ..PLAIN
    },
    Program { names: &["head"], flags: "qvz0123456789", values: LINES, ..PLAIN },
    Program { names: &["tail"], flags: "fFqvrz0123456789", values: LINES, ..PLAIN },
    Program { names: &["wc"], flags: "clmwL", long: &["--lines", "--words", "--chars", "--bytes"], ..PLAIN },
    Program {
        names: &["ls"],
        flags: "1aAbBcCdfFgGhHiklLmnopqQrRsStuUvxX",
        long: &["--all", "--almost-all", "--human-readable", "--recursive", "--color", "--directory"],
        reads_folder: true,
        ..PLAIN
    },
    Program {
        names: &["stat"],
        flags: "fLtxFnqlrs",
        values: &[("-c", Text), ("--format", Text), ("--printf", Text)],
        ..PLAIN
    },
    Program { names: &["file"], flags: "bikLhNnprsvzZ0", ..PLAIN },
    Program {
        names: &["du"],
        flags: "abcDhHklLmPsSx0",
        long: &["--human-readable", "--summarize", "--all"],
        values: &[("-d", Text), ("--max-depth", Text)],
        reads_folder: true,
        ..PLAIN
    },
    Program { names: &["df"], flags: "ahHiklTPm", ..PLAIN },
    Program {
        names: &["sort"],
        flags: "bdfghiMnrRsuVzcCm",
        long: &["--reverse", "--unique", "--numeric-sort"],
        values: &[
            ("-k", Text),
            ("-t", Text),
            ("--key", Text),
            ("--field-separator", Text),
            ("-o", Write),
            ("--output", Write),
        ],
        ..PLAIN
    },
    Program {
        names: &["cut"],
        flags: "nsz",
        values: &[
            ("-b", Text),
            ("-c", Text),
            ("-d", Text),
            ("-f", Text),
            ("--delimiter", Text),
            ("--fields", Text),
        ],
        ..PLAIN
    },
    Program { names: &["paste"], flags: "sz", values: &[("-d", Text)], ..PLAIN },
    Program { names: &["tac", "rev"], ..PLAIN },
    Program {
        names: &["nl"],
        flags: "p",
        values: &[("-b", Text), ("-n", Text), ("-s", Text), ("-w", Text)],
        ..PLAIN
    },
    Program {
        names: &["diff"],
        flags: "abBdeEiNnpqrstTuwy",
        long: &["--brief", "--recursive", "--unified", "--color", "--side-by-side"],
        values: &[("-U", Text), ("-x", Text), ("--exclude", Text)],
        ..PLAIN
    },
    Program { names: &["cmp"], flags: "bls", values: &[("-n", Text)], ..PLAIN },
    Program { names: &["comm"], flags: "123iz", ..PLAIN },
    // `-c` reads the names of files in a file
    Program {
        names: &["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum"],
        flags: "bt",
        long: &["--tag"],
        ..PLAIN
    },
    Program {
        names: &["od"],
        flags: "abcdfhilosxv",
        values: &[("-A", Text), ("-j", Text), ("-N", Text), ("-t", Text)],
        ..PLAIN
    },
    Program { names: &["hexdump"], flags: "bcCdovx", values: &[("-n", Text), ("-s", Text)], ..PLAIN },
    Program { names: &["realpath", "readlink"], flags: "efmnqsz", ..PLAIN },
    Program {
        names: &["tree"],
        flags: "adfilpsuDghrtvx",
        values: &[("-L", Text), ("-I", Text), ("-P", Text)],
        reads_folder: true,
        ..PLAIN
    },
    Program {
        names: &["grep", "egrep", "fgrep"],
        flags: "abcEFGhHiILlnoPqrRsTUvwxyzZ0123456789",
        long: &[
            "--ignore-case",
            "--recursive",
            "--line-number",
            "--count",
            "--files-with-matches",
            "--only-matching",
            "--invert-match",
            "--word-regexp",
            "--extended-regexp",
            "--fixed-strings",
            "--perl-regexp",
            "--quiet",
            "--no-messages",
            "--no-filename",
            "--color",
        ],
        values: &[
            ("-A", Text),
            ("-B", Text),
            ("-C", Text),
            ("-m", Text),
            ("-e", Pattern),
            ("-f", Patterns),
            ("--regexp", Pattern),
            ("--file", Patterns),
            ("--include", Text),
            ("--exclude", Text),
            ("--exclude-dir", Text),
            ("--exclude-from", Read),
            ("--max-count", Text),
            ("--context", Text),
            ("--after-context", Text),
            ("--before-context", Text),
        ],
        operands: AfterFirst(Read),
        reads_folder: true,
    },
    Program { names: &["find"], operands: Search, ..PLAIN },
    // write files
    Program {
        names: &["uniq"],
        flags: "cdDiuz",
        values: &[("-f", Text), ("-s", Text), ("-w", Text)],
        operands: FromTo,
        ..PLAIN
    },
    Program {
        names: &["xxd"],
        // it knows options by their first letter (`-ps`, `-cols`), so that none has a value that can be told
        flags: "abCEeipru",
        operands: FromTo,
        ..PLAIN
    },
    Program {
        names: &["rm"],
        flags: "dfiIrRvP",
        long: &["--force", "--recursive"],
        operands: Each(Write),
        ..PLAIN
    },
    Program { names: &["rmdir"], flags: "pv", operands: Each(Write), ..PLAIN },
    Program {
        names: &["mkdir"],
        flags: "pv",
        long: &["--parents"],
        values: &[("-m", Text)],
        operands: Each(Write),
        ..PLAIN
    },
    Program {
        names: &["touch"],
        flags: "acmh",
        values: &[("-d", Text), ("-t", Text), ("-r", Read)],
        operands: Each(Write),
        ..PLAIN
    },
    Program { names: &["tee"], flags: "aip", long: &["--append"], operands: Each(Write), ..PLAIN },
    Program {
        names: &["truncate"],
        flags: "c",
        values: &[("-s", Text), ("--size", Text), ("-r", Read)],
        operands: Each(Write),
        ..PLAIN
    },
    Program { names: &["chmod", "chown", "chgrp"], flags: "RfvchHLP", operands: AfterFirst(Write), ..PLAIN },
    Program {
        names: &["mv"],
        flags: "finuvT",
        values: &[("-t", Into), ("--target-directory", Into)],
        operands: Each(Write),
        ..PLAIN
    },
    Program {
        names: &["cp"],
        flags: "aRrfinpPLHuvTxd",
        long: &["--recursive", "--archive"],
        values: &[("-t", Into), ("--target-directory", Into)],
        operands: LastWritten,
        ..PLAIN
    },
    // a symbolic link (`-s`) is read from where it stands, and leads anywhere
    Program { names: &["ln"], flags: "fiv", operands: Linked, ..PLAIN },
    Program {
        names: &["sed"],
        flags: "nErsuz",
        long: &["--quiet", "--regexp-extended"],
        values: &[("-e", Pattern), ("--expression", Pattern)],
        operands: Script,
        ..PLAIN
    },
    Program {
        names: &[
            "xargs",
            "parallel",
            "env",
            "nohup",
            "nice",
            "timeout",
            "time",
            "watch",
            "sudo",
            "doas",
            "su",
            "setsid",
            "stdbuf",
            "chroot",
            "command",
            "builtin",
            "exec",
            "sh",
            "bash",
            "dash",
            "zsh",
            "ksh",
            "fish",
            "busybox",
            "python",
            "python2",
            "python3",
            "perl",
            "ruby",
            "node",
            "deno",
            "bun",
            "php",
            "lua",
            "tclsh",
            "Rscript",
            "osascript",
            "awk",
            "gawk",
            "mawk",
            "nawk",
            "ssh",
            "docker",
            "podman",
            "kubectl",
        ],
        operands: Code,
        ..PLAIN
    },
];

/// What follows a word of an expression of `find`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Values, and the use of each.
    Values(&'static [Use]),
    /// The files that are found are removed.
    Remove,
    /// A program is run for each file.
    Run,
}

/// The words of an expression of `find` that are known.
pub(super) fn search_step(word: &str) -> Option<Step> {
    Some(match word {
        "-print" | "-print0" | "-ls" | "-prune" | "-empty" | "-not" | "-a" | "-and" | "-o" | "-or" | "!"
        | "(" | ")" | "-daystart" | "-depth" | "-mount" | "-xdev" | "-readable" | "-writable"
        | "-executable" | "-true" | "-false" | "-follow" | "-quit" => Step::Values(&[]),
        "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-regex" | "-iregex" | "-lname"
        | "-type" | "-xtype" | "-size" | "-mtime" | "-atime" | "-ctime" | "-mmin" | "-amin" | "-cmin"
        | "-perm" | "-user" | "-group" | "-uid" | "-gid" | "-links" | "-inum" | "-maxdepth" | "-mindepth"
        | "-regextype" | "-printf" => Step::Values(&[Text]),
        "-newer" | "-anewer" | "-cnewer" | "-samefile" => Step::Values(&[Read]),
        "-fprint" | "-fprint0" | "-fls" => Step::Values(&[Write]),
        "-fprintf" => Step::Values(&[Write, Text]),
        "-delete" => Step::Remove,
        "-exec" | "-execdir" | "-ok" | "-okdir" => Step::Run,
        _ => return None,
    })
}
