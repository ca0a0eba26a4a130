//! The keys of a block mapping in another order, each with its comments.
//!
//! In: a text, and one mapping of it. Out: the text with the mapping's keys in their order. A key takes along the comments right above it, the one behind it on its line, and all lines
//! of its value. What cannot be moved without a doubt (a mapping in braces, a comment that would come between a dash and its first key) stays.

use crate::manifest::node::{Data, Entry, Node};

/// The text with the keys of a mapping in this order; nothing if they stand so, or cannot be moved.
pub(super) fn reordered(text: &str, mapping: &Node, order: &[usize]) -> Option<String> {
    let Data::Mapping(entries) = &mapping.data else { return None };
    if order.iter().enumerate().all(|(at, from)| at == *from) || entries.len() < 2 {
        return None;
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let starts: Vec<(usize, usize)> = entries.iter().map(start).collect();
    let (first_line, column) = *starts.first()?;
    // each key on a line of its own, all below one another: else the mapping is one in braces
    let below = starts.iter().zip(starts.iter().skip(1)).all(|(one, next)| one.0 < next.0 && one.1 == next.1);
    if !below {
        return None;
    }
    let (before, _) = lines.get(first_line)?.split_at_checked(byte_of(lines.get(first_line)?, column))?;
    let is_item = before.contains('-');
    if !before.chars().all(|c| matches!(c, ' ' | '-')) {
        return None;
    }
    let indent = " ".repeat(column);
    let mut tops = Vec::new();
    for (at, (line, _)) in starts.iter().enumerate() {
        let floor = at
            .checked_sub(1)
            .and_then(|before| starts.get(before))
            .map_or(first_line, |(line, _)| line.saturating_add(1));
        let mut top = *line;
        while top > floor && is_comment_at(lines.get(top.checked_sub(1)?)?, column) {
            top = top.checked_sub(1)?;
        }
        tops.push(top);
    }
    let end = end(&lines, starts.last()?.0, column);
    let block = |at: usize| -> Option<(String, bool)> {
        let (top, line) = (*tops.get(at)?, starts.get(at)?.0);
        let bottom = tops.get(at.saturating_add(1)).copied().unwrap_or(end);
        let mut block = String::new();
        for (number, text) in lines.get(top..bottom)?.iter().enumerate() {
            // the dash of an item stays where it is
            let is_first = top.saturating_add(number) == first_line;
            let text = if is_first { text.split_at_checked(before.len())?.1 } else { text };
            if is_first {
                block.push_str(&indent);
            }
            block.push_str(text);
            if !text.ends_with('\n') {
                block.push('\n');
            }
        }
        Some((block, top < line))
    };
    let mut blocks = Vec::new();
    for at in order {
        blocks.push(block(*at)?);
    }
    let (head, has_comment) = blocks.first()?;
    if is_item && *has_comment {
        return None;
    }
    let mut written: String = lines.get(..first_line)?.concat();
    written.push_str(before);
    written.push_str(head.get(indent.len()..)?);
    blocks.iter().skip(1).for_each(|(block, _)| written.push_str(block));
    written.push_str(&lines.get(end..)?.concat());
    if !text.ends_with('\n') {
        written.truncate(written.trim_end_matches('\n').len());
    }
    Some(written)
}

/// The line and the column of a key, both from 0.
fn start(entry: &Entry) -> (usize, usize) {
    let position = entry.key.place.position();
    (position.line.saturating_sub(1), position.column.saturating_sub(1))
}

/// The byte of a column.
fn byte_of(line: &str, column: usize) -> usize {
    line.char_indices().nth(column).map_or(line.len(), |(at, _)| at)
}

fn is_comment_at(line: &str, column: usize) -> bool {
    line.trim_start().starts_with('#') && indentation(line) == column
}

fn indentation(line: &str) -> usize {
    line.chars().take_while(|c| *c == ' ').count()
}

/// The line behind the value of the last key: what follows is not deeper, and blank lines and comments ahead of it are not the value's.
fn end(lines: &[&str], last: usize, column: usize) -> usize {
    let mut end = last.saturating_add(1);
    for (at, line) in lines.iter().enumerate().skip(end) {
        let is_blank = line.trim().is_empty();
        if !is_blank && indentation(line) <= column {
            break;
        }
        if !is_blank {
            end = at.saturating_add(1);
        }
    }
    end
}
