//! The tables of forms in `docs/security.md` are those of the code. `UPDATE_EXPECT=1` writes them.

use celador_server::traffic::Form;
use std::fmt::Write as _;
use std::fs;

const PAGE: &str = "docs/security.md";

/// The tables, by the names of their sections.
fn tables() -> [(&'static str, Vec<Form>); 4] {
    [
        ("mcp", celador_gateway::mcp::FORMS.to_vec()),
        ("mcp/http", celador_gateway::mcp::HTTP_FORMS.to_vec()),
        ("proxies", celador_gateway::llm::forms()),
        ("hooks", celador_server::HOOK_FORMS.to_vec()),
    ]
}

fn table(forms: &[Form]) -> String {
    let mut text = "| form | from | treatment | note |\n|---|---|---|---|\n".to_owned();
    for Form { name, from, treatment, note } in forms {
        let _ = writeln!(text, "| `{name}` | {from} | {} | {note} |", treatment.as_str());
    }
    text
}

#[test]
fn the_page_on_security_has_the_tables_of_forms() {
    let mut page = fs::read_to_string(PAGE).unwrap();
    for (name, forms) in tables() {
        let head = format!("<!-- forms: {name} -->\n");
        let begin = page.find(&head).unwrap_or_else(|| panic!("{PAGE} has no section {name}")) + head.len();
        let end = begin + page[begin..].find("<!-- end forms -->").unwrap();
        let expected = table(&forms);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            page.replace_range(begin..end, &expected);
        } else {
            assert_eq!(&page[begin..end], expected, "{name}: UPDATE_EXPECT=1 writes the table");
        }
    }
    fs::write(PAGE, page).unwrap();
}

#[test]
fn each_form_fits_a_row() {
    for (name, forms) in tables() {
        assert!(!forms.is_empty(), "{name}");
        for form in forms {
            let cells = [form.name, form.from, form.note];
            assert!(cells.iter().all(|cell| !cell.contains(['\n', '|'])), "{name}: {}", form.name);
        }
    }
}
