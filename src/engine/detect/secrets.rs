//! The kinds of secrets, one row each: the published formats of those who issue them.
//!
//! A format with a prefix of its own needs nothing before it, so that a key glued to a word is found; one with a short prefix must begin a
//! word. Examples stand in parts, and no part is a key that was ever issued.

use super::kind::{Kind, begins, whole};
use super::token::{assigned, high_entropy, jwt, mixed, private_key, url_password};

/// A row that its pattern says all of.
macro_rules! format {
    ($name:literal, $about:literal, $source:literal, $letters:expr, $sign:literal, $pattern:literal, $sift:expr, $example:expr) => {
        Kind {
            name: $name,
            about: $about,
            source: $source,
            on_request: false,
            example: &$example,
            sign: $sign,
            letters: &$letters,
            pattern: $pattern,
            sift: $sift,
        }
    };
}

/// The kinds of secrets.
#[rustfmt::skip]
pub const SECRETS: &[Kind] = &[
    format!("aws_access_key", "the id of an access key of AWS", "AWS IAM: unique identifiers",
        ["akia", "asia", "abia", "acca"], "A(?:KIA|SIA|BIA|CCA)", "A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}", whole, ["AKIA", "IOSFODNN7", "EXAMPLE"]),
    format!("aws_secret_key", "a secret access key of AWS behind its name: 40 characters that no other sign tells", "AWS IAM: access keys",
        ["aws"], "(?i-u:aws)", r#"(?i-u:aws[a-z_. -]{0,20}(?:secret|key)[a-z_. -]{0,20})["']?[ \t]{0,4}(?:=>|[:=])[ \t]{0,4}["']?[A-Za-z0-9/+]{40}"#,
        assigned, ["aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/", "bPxRfiCYEXAMPLEKEY"]),
    format!("anthropic_key", "a key of Anthropic's API", "Anthropic: API keys",
        ["sk-ant-"], "sk-ant-", "sk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{20,}", whole, ["sk-ant-", "api03-", "abcdefghijklmnopqrstuvwxyz0123"]),
    format!("azure_client_secret", "a client secret of Microsoft Entra", "Microsoft Purview: Azure AD client secret",
        ["q~"], "[0-9]Q~", "[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", whole, ["abc8", "Q~abcdefghijklmnopqrs", "tuvwxyz01234"]),
    format!("azure_storage_key", "the key of an Azure storage account behind its name", "Microsoft: Azure Storage connection strings",
        ["accountkey"], "(?i-u:AccountKey)", "(?i-u:AccountKey)[ ]{0,2}=[ ]{0,2}[A-Za-z0-9+/]{86}==", assigned,
        ["AccountKey=", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz01234567=="]),
    format!("databricks_token", "a personal access token of Databricks", "Databricks: token management",
        ["dapi"], "dapi[0-9a-f]{4}", "dapi[0-9a-f]{32}(?:-[0-9]{1,2})?", begins, ["dapi", "0123456789abcdef", "0123456789abcdef"]),
    format!("digitalocean_token", "a token of DigitalOcean", "DigitalOcean: token prefixes",
        ["_v1_"], "do[opr]_v1_", "do[opr]_v1_[a-f0-9]{64}", whole,
        ["dop_v1_", "0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"]),
    format!("docker_token", "a personal access token of Docker Hub", "Docker: access tokens",
        ["dckr_"], "dckr_[po]at_", "dckr_[po]at_[A-Za-z0-9_-]{27,}", whole, ["dckr_pat_", "abcdefghijklmnopqrstuvwxyz0"]),
    format!("github_pat", "a fine-grained personal access token of GitHub", "GitHub: token formats",
        ["github_pat_"], "github_pat_", "github_pat_[A-Za-z0-9_]{22,}", begins,
        ["github_pat_", "abcdefghijklmnopqrstuv", "_", "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvw"]),
    format!("github_token", "a token of GitHub, whether its checksum is right or not", "GitHub: behind the new token formats",
        ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], "gh[pousr]_", "gh[pousr]_[A-Za-z0-9]{36}[A-Za-z0-9_.-]*", begins,
        ["ghp_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ", "0mLq17"]),
    format!("gitlab_token", "a token of GitLab", "GitLab: token prefixes",
        ["gl"], "gl[a-z]{2,5}-", "gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|wt|soat|ffct)-[A-Za-z0-9_.-]{20,}", begins,
        ["glpat-", "abcdefghijklmnopqrst"]),
    format!("google_api_key", "a key of Google's APIs", "Google Cloud: API keys",
        ["aiza"], "AIza", "AIza[A-Za-z0-9_-]{35}", whole, ["AIza", "SyAbcdefghijklmnopqrst", "uvwxyz0123456"]),
    format!("google_oauth_secret", "a client secret or an access token of Google's OAuth", "Google: OAuth 2.0",
        ["gocspx-", "ya29."], r"GOCSPX-|ya29\.", r"GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{20,}", whole, ["GOCSPX-", "abcdefghijklmnopqrst", "uvwxyz01"]),
    format!("grafana_token", "a token of a service account of Grafana", "Grafana: service account tokens",
        ["glsa_", "glc_"], "gl(?:sa|c)_", "glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,}={0,2}", begins,
        ["glsa_", "abcdefghijklmnopqrstuvwxyz012345", "_0123abcd"]),
    format!("groq_key", "a key of Groq's API", "Groq: API keys", ["gsk_"], "gsk_", "gsk_[A-Za-z0-9]{52}", whole,
        ["gsk_", "abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz"]),
    format!("huggingface_token", "a token of Hugging Face", "Hugging Face: user access tokens",
        ["hf_", "api_org_"], "hf_|api_org_", "(?:hf_|api_org_)[A-Za-z]{34}", begins, ["hf_", "abcdefghijklmnopqr", "stuvwxyzabcdefgh"]),
    format!("jwt", "a JSON Web Token, signed, encrypted or neither: its first part names an algorithm", "RFC 7519",
        ["eyj", "eya", "ewo", "ew0"], "ey[JA]|ew[o0]", r"(?:ey[JA]|ew[o0])[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+)?",
        jwt, ["eyJhbGciOiJub25lIn0", ".eyJzdWIiOiJhbm4ifQ", "."]),
    format!("npm_token", "a token of npm, whether its checksum is right or not", "npm: the new access token format",
        ["npm_"], "npm_", "npm_[A-Za-z0-9]{36}[A-Za-z0-9_.-]*", begins, ["npm_", "abcdefghijklmnopqrstuvwxyz0123", "2LolCm"]),
    format!("openai_key", "a key of OpenAI's API, or of those who took over its prefix", "OpenAI: API keys",
        ["sk-"], "sk-", "sk-[A-Za-z0-9_-]{32,}", mixed, ["sk-", "proj-", "abcdefghijklmnop0123456789qrstuvwxyz"]),
    format!("private_key", "a private key in PEM or OpenPGP armour, whole or cut off", "RFC 7468, RFC 9580",
        ["-----begin"], "-----BEGIN", r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----[^-]*(?:-[^-]+)*(?:-----END [A-Z0-9 ]{1,60}-----)?",
        private_key, ["-----BEGIN ", "PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAAAAAAA", "\n-----END ", "PRIVATE KEY-----"]),
    format!("pypi_token", "an API token of PyPI or TestPyPI", "PyPI: API tokens",
        ["pypi-age"], "pypi-AgE", "pypi-AgE(?:IcHlwaS5vcmc|NdGVzdC5weXBpLm9yZ)[A-Za-z0-9_-]{50,}", whole,
        ["pypi-AgE", "IcHlwaS5vcmc", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"]),
    format!("sendgrid_key", "a key of SendGrid's API", "SendGrid: API keys",
        ["sg."], r"SG\.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", whole,
        ["SG.", "abcdefghijklmnopqrstuv", ".abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopq"]),
    format!("shopify_token", "a token of Shopify", "Shopify: token prefixes",
        ["shp"], "shp[a-z]{2}_", "shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}", begins, ["shpat_", "0123456789abcdef", "0123456789abcdef"]),
    format!("slack_token", "a token of Slack", "Slack: token types",
        ["xox", "xapp-"], "xox|xapp-", "xox[abeoprs](?:[.-][a-z0-9]{1,4})?-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,}", whole,
        ["xoxb-", "123456789012-123456789012-", "abcdefghijklmnopqrstuvwx"]),
    format!("slack_webhook", "the address of an incoming webhook of Slack", "Slack: incoming webhooks",
        ["hooks.slack.com"], r"hooks\.slack\.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{30,}", whole,
        ["hooks.slack.com/", "services/T01234567/B01234567/", "abcdefghijklmnopqrstuvwx"]),
    format!("stripe_key", "a secret or restricted key of Stripe, live or for tests, or the secret of a webhook", "Stripe: API keys",
        ["k_live_", "k_test_", "whsec_"], "[sr]k_(?:live|test)_|whsec_", "[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/]{32,}={0,2}", begins,
        ["sk_", "live_", "abcdefghijklmnopqrstuvwx"]),
    format!("telegram_token", "the token of a bot of Telegram", "Telegram: bot API",
        [":aa"], ":AA", "[0-9]{8,10}:AA[A-Za-z0-9_-]{33}", begins, ["123456789:", "AAabcdefghijklmnopq", "rstuvwxyz0123456"]),
    format!("twilio_key", "a key of Twilio's API", "Twilio: API keys",
        ["sk"], "SK[0-9a-f]{4}", "SK[0-9a-f]{32}", begins, ["SK", "0123456789abcdef", "0123456789abcdef"]),
    format!("vault_token", "a token of HashiCorp Vault", "HashiCorp: Vault tokens",
        ["hvs.", "hvb.", "hvr."], r"hv[sbr]\.", r"hv[sbr]\.[A-Za-z0-9_-]{24,}", begins, ["hvs.", "abcdefghijklmnopqrstuvwx"]),
    format!("url_password", "the password in an address such as `postgres://user:password@host`", "RFC 3986",
        ["://"], "://", r#"(?-u:[A-Za-z][A-Za-z0-9+.-]{1,20})://[^\s/:@"'<>\[\]]*:[^\s/@"'<>\[\]]+@"#, url_password,
        ["postgres://app:", "hunter2", "@db.example.com/shop"]),
    Kind {
        on_request: true,
        ..format!("high_entropy", "a long word that looks made by chance: digests and ids are found, too", "Shannon's entropy",
            [], "[A-Za-z0-9+/_=-]{20}", "[A-Za-z0-9+/_=-]{20,}", high_entropy, ["Zk3vQ9xT7bLm2RwP", "5sYd8HcF1gJn4KaU"])
    },
];
