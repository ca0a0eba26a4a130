//! Texts that have a renderer fetch from `evil.test`, in spellings that other readers overlook.

use super::{Links, html, markdown};

/// HTML, and Markdown with HTML in it, as one program or another reads them.
const FETCHES: &[&str] = &[
    // sections, instructions and declarations, which XML reads otherwise than HTML
    "<svg><![CDATA[<image href=//evil.test/x>]]></svg>",
    "<![CDATA[<img src=//evil.test/x>]]>",
    "<![CDATA[ > <img src=//evil.test/x> ]]>",
    "<?php echo '<img src=//evil.test/x>' ?>",
    "<?xml-stylesheet href='//evil.test/x'?>",
    "<!DOCTYPE svg [<!ENTITY x \"<img src=//evil.test/x>\">]>&x;",
    "<!x <img src=//evil.test/x>>",
    "<!-- <![CDATA[<img src=//evil.test/x -->",
    "<!--><img src=//evil.test/x>-->",
    "<!-- --!><img src=//evil.test/x>",
    "<!-- <!-- <img src=//evil.test/x> -->",
    "<!--[if mso]><img src=//evil.test/x><![endif]-->",
    "</ <img src=//evil.test/x>",
    // elements whose content is text to some programs
    "<title><img src=//evil.test/x></title>",
    "<noscript><p title=\"</noscript><img src=//evil.test/x>\">",
    "<template><img src=//evil.test/x></template>",
    "<textarea><img title=\"</textarea><img src=//evil.test/x>\">",
    "<xmp><img src=//evil.test/x>",
    "<plaintext><img src=//evil.test/x>",
    "<svg><style><![CDATA[a{background:url(//evil.test/x)}]]></style></svg>",
    "<svg><style>a{background:url(&#x2f;&#x2f;evil.test/x)}</style></svg>",
    // attributes
    "<svg><image><animate attributeName=href values=\"a.png;//evil.test/x\">",
    "<svg><image><animate attributeName=href values=\"a.png;https:evil.test/x\">",
    "<svg><image><set attributeName=href to=//evil.test/x>",
    "<svg><use xlink:href=\"//evil.test/x#a\"/>",
    "<svg><image x:href=//evil.test/x>",
    "<svg><rect filter=\"u\\72l(//evil.test/x)\"/>",
    "<math href=//evil.test/x>",
    "<img srcset=\"a.png,//evil.test/x 2x\">",
    "<img srcset=\"data:,a ( , //evil.test/b ) , //evil.test/x 2x\">",
    "<link rel=preload as=image imagesrcset=\"//evil.test/x 2x\">",
    "<meta http-equiv=refresh content=\"0; //evil.test/x\">",
    "<meta http-equiv=refresh content=\"0 url=\thttps:evil.test\">",
    "<object><param name=src value=https:evil.test/x>",
    "<iframe srcdoc=\"&lt;iframe srcdoc=&quot;&amp;lt;img src=//evil.test/x&amp;gt;&quot;&gt;\">",
    "<img attributionsrc=//evil.test/x>",
    "<v:fill src=//evil.test/x>",
    "<img/src=//evil.test/x>",
    "<img\x0csrc=//evil.test/x>",
    "<img src=//evil.test/x",
    "<img alt='a' src='//evil.test/x",
    // URLs
    "<img src=\"\\\\evil.test/x\">",
    "<img src=\"/\t/evil.test/x\">",
    "<img src=\"ht\ttps:/\n/evil.test/x\">",
    "<img src=https:evil.test/x>",
    "<img src=https:////evil.test/x>",
    "<img src=https://good.test@evil.test/x>",
    "<img src=https://%65vil.test/x>",
    "<img src=https://ｅｖｉｌ.test/x>",
    "<img src=https://evil。test/x>",
    // style sheets
    "<style>a{content:\"/*\";background:url(//evil.test/x);content:\"*/\"}</style>",
    "<style>a{content:\"\\\"\";background:url(https:evil.test/x);content:\"\"}</style>",
    "<style>a{background:url(\"//evi\\\r\nl.test/x\")}</style>",
    "<style>a{background:u/**/rl(a) url(https:evil.test/x</style>",
    "<style>@\\69mport '//evil.test/x'</style>",
    "<style>a{background:-webkit-image-set(\"//evil.test/x\" 1x)}</style>",
    "<style>a{--x:\"//evil.test/x\";background:image-set(var(--x) 1x)}</style>",
    "<p style=\"background:url(&#x2f;&#x2f;evil.test/x)\">",
    // Markdown
    "![a]\n\n> [a]:\n> //evil.test/x",
    "![a](\n//evil.test/x\n'title')",
    "![a](&#104;ttps&colon;&sol;&sol;evil.test/x)",
    "![a](//evil.test/x =100x100)",
    "![a](https://evil.test/a b)",
    "![a] (//evil.test/x)",
    "![a](//evil.test/x",
    "![[https://evil.test/x]]",
    "[![a](//evil.test/x)](b)",
    "x[^1]\n\n[^1]: ![a](//evil.test/x)",
    "a|b\n-|-\n![a](//evil.test/x)|c",
    "![a](b \"<img src=//evil.test/x>\")",
];

/// Texts without anything that is fetched from another host.
const FETCHES_NOTHING: &[&str] = &[
    "<!DOCTYPE html><p>See <a href=\"https://example.com/a\">this</a>.",
    "<?xml version='1.0'?><p>text</p>",
    "<!-- see https://example.com/a -->",
    "Is a < b? See [this](https://example.com/a), or https://example.com/b!",
    "1 // 2 // 3",
    "<p style=\"font-family: 'Open Sans'; color: red\">text</p>",
];

fn fetched_hosts(text: &str) -> Vec<String> {
    let mut links = Links::default();
    for rendered in markdown::renderings(text) {
        html::read(&rendered, &mut links).unwrap();
    }
    markdown::read_images(text, &mut links).unwrap();
    html::read(text, &mut links).unwrap();
    links.0.into_iter().filter(|link| link.is_fetched).map(|link| link.host).collect()
}

#[test]
fn each_spelling_of_a_fetched_url_is_found() {
    let missed: Vec<_> =
        FETCHES.iter().filter(|text| !fetched_hosts(text).contains(&"evil.test".to_owned())).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    for text in FETCHES_NOTHING {
        assert!(fetched_hosts(text).is_empty(), "{text}: {:?}", fetched_hosts(text));
    }
}
