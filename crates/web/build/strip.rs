//! Removes comments and unneeded white space, with line breaks, from the page's scripts and style sheets. Names and everything in
//! literals are kept. In the scripts of the page, no statement ends at a line break: it has a semicolon, or ends with a block. A
//! browser test compares the syntax trees before and after.

/// A bracket that is open, or a substitution of a template literal (`${`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    /// Whether a statement can follow the closing parenthesis, so that `/` begins a regular expression there.
    Parenthesis {
        of_statement: bool,
    },
    Bracket,
    Brace,
    Substitution,
}

/// What `/` means after the last token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slash {
    Division,
    Expression,
    /// After `}`, only a full parser can decide.
    Unknown,
}

/// Keywords after which an expression follows.
const BEFORE_EXPRESSION: [&str; 14] = [
    "await",
    "case",
    "delete",
    "do",
    "else",
    "in",
    "instanceof",
    "new",
    "of",
    "return",
    "throw",
    "typeof",
    "void",
    "yield",
];

/// Keywords with parentheses after which a statement follows.
const BEFORE_CONDITION: [&str; 4] = ["for", "if", "while", "with"];

/// Removes comments and unneeded white space from a module.
///
/// # Errors
///
/// The line and what is wrong there: an unfinished literal, or `/` where only a full parser can distinguish a division from a
/// regular expression.
pub(crate) fn javascript(source: &str) -> Result<String, String> {
    let mut script = Script {
        source,
        at: 0,
        out: String::with_capacity(source.len()),
        has_gap: false,
        slash: Slash::Expression,
        is_expression_closed: false,
        word: 0..0,
        open: Vec::new(),
    };
    match script.run() {
        Ok(()) => Ok(script.out),
        Err(problem) => {
            let line = source.as_bytes()[..script.at.min(source.len())]
                .iter()
                .filter(|&&byte| byte == b'\n')
                .count();
            Err(format!("line {}: {problem}", line + 1))
        }
    }
}

struct Script<'a> {
    source: &'a str,
    at: usize,
    out: String,
    /// Whether there is white space or a comment before the next token.
    has_gap: bool,
    slash: Slash,
    /// Whether the last token is a semicolon after an expression, not one that is a statement of its own.
    is_expression_closed: bool,
    /// Where the last token is in the source if it is a word and not the name of a property.
    word: std::ops::Range<usize>,
    open: Vec<Open>,
}

impl Script<'_> {
    fn byte(&self, offset: usize) -> u8 {
        self.source.as_bytes().get(self.at + offset).copied().unwrap_or(0)
    }

    fn run(&mut self) -> Result<(), &'static str> {
        // Both are line terminators, which the code below does not handle.
        if self.source.contains(['\u{2028}', '\u{2029}']) {
            return Err("a Unicode line separator");
        }
        while self.at < self.source.len() {
            match (self.byte(0), self.byte(1)) {
                (b'\n' | b'\r' | b' ' | b'\t', _) => self.skip(1),
                (b'/', b'/') => {
                    let rest = &self.source[self.at..];
                    self.skip(rest.find('\n').unwrap_or(rest.len()));
                }
                (b'/', b'*') => {
                    let length = self.source[self.at + 2..].find("*/").ok_or("an unfinished comment")? + 4;
                    self.skip(length);
                }
                (b'/', _) => match self.slash {
                    Slash::Division => self.mark(),
                    Slash::Expression => self.regular_expression()?,
                    Slash::Unknown => return Err("`/` after `}`: put what is before it into parentheses"),
                },
                (quote @ (b'"' | b'\''), _) => self.string(quote)?,
                (b'`', _) => self.template(1)?,
                (b'}', _) if self.open.last() == Some(&Open::Substitution) => {
                    self.open.pop();
                    self.template(1)?;
                }
                (byte, _) if is_word(byte) => self.word(),
                _ => self.mark(),
            }
        }
        if self.open.is_empty() { Ok(()) } else { Err("an open bracket") }
    }

    fn skip(&mut self, length: usize) {
        self.at += length;
        self.has_gap = true;
    }

    /// Copies the next bytes as one token, or as one part of a template literal.
    fn copy(&mut self, length: usize, slash: Slash) {
        let token = &self.source[self.at..self.at + length];
        self.is_expression_closed = token == ";" && self.slash == Slash::Division;
        if self.has_gap && must_separate(&self.out, token) {
            self.out.push(' ');
        }
        self.out.push_str(token);
        self.at += length;
        (self.has_gap, self.slash, self.word) = (false, slash, 0..0);
    }

    /// A name, keyword or number.
    fn word(&mut self) {
        let length = self.source.as_bytes()[self.at..].iter().take_while(|&&byte| is_word(byte)).count();
        let word = self.at..self.at + length;
        let is_property = self.out.ends_with('.') && !self.out.ends_with("...");
        let is_keyword = !is_property && BEFORE_EXPRESSION.contains(&&self.source[word.clone()]);
        self.copy(length, if is_keyword { Slash::Expression } else { Slash::Division });
        if !is_property {
            self.word = word;
        }
    }

    /// One character of an operator, or a bracket.
    fn mark(&mut self) {
        let last = &self.source[self.word.clone()];
        let slash = match self.byte(0) {
            b'(' => {
                let is_for_await = last == "await" && self.out.ends_with("for await");
                self.open.push(Open::Parenthesis {
                    of_statement: BEFORE_CONDITION.contains(&last) || is_for_await,
                });
                Slash::Expression
            }
            b'[' => {
                self.open.push(Open::Bracket);
                Slash::Expression
            }
            b'{' => {
                self.open.push(Open::Brace);
                Slash::Expression
            }
            b')' if self.open.pop() == Some(Open::Parenthesis { of_statement: true }) => Slash::Expression,
            b')' => Slash::Division,
            b']' => {
                self.open.pop();
                Slash::Division
            }
            b'}' => {
                self.open.pop();
                // The last expression of a block needs no semicolon.
                if self.is_expression_closed {
                    self.out.pop();
                }
                Slash::Unknown
            }
            // After `++` and `--`, a regular expression would not be valid.
            mark @ (b'+' | b'-') if !self.has_gap && self.out.as_bytes().last() == Some(&mark) => {
                Slash::Division
            }
            _ => Slash::Expression,
        };
        self.copy(1, slash);
    }

    fn string(&mut self, quote: u8) -> Result<(), &'static str> {
        let mut length = 1;
        loop {
            match self.byte(length) {
                0 | b'\n' => return Err("an unfinished string"),
                b'\\' => length += 2,
                byte if byte == quote => break,
                _ => length += 1,
            }
        }
        self.copy(length + 1, Slash::Division);
        Ok(())
    }

    /// A template literal up to its end or its next substitution. The first `length` bytes open it or close a substitution.
    fn template(&mut self, mut length: usize) -> Result<(), &'static str> {
        loop {
            match (self.byte(length), self.byte(length + 1)) {
                (0, _) => return Err("an unfinished template literal"),
                (b'\\', _) => length += 2,
                (b'`', _) => {
                    self.copy(length + 1, Slash::Division);
                    return Ok(());
                }
                (b'$', b'{') => {
                    self.copy(length + 2, Slash::Expression);
                    self.open.push(Open::Substitution);
                    return Ok(());
                }
                _ => length += 1,
            }
        }
    }

    fn regular_expression(&mut self) -> Result<(), &'static str> {
        let (mut length, mut is_class) = (1, false);
        loop {
            match self.byte(length) {
                0 | b'\n' => return Err("an unfinished regular expression"),
                b'\\' => length += 2,
                b'/' if !is_class => break,
                byte => {
                    is_class = byte == b'[' || (is_class && byte != b']');
                    length += 1;
                }
            }
        }
        length += 1;
        while is_word(self.byte(length)) {
            length += 1;
        }
        self.copy(length, Slash::Division);
        Ok(())
    }
}

const fn is_word(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'$' | b'#' | b'@' | b'\\' | 0x80..)
}

/// Whether the text and the token would mean something else without a space between them.
fn must_separate(before: &str, token: &str) -> bool {
    let (Some(&last), Some(&first)) = (before.as_bytes().last(), token.as_bytes().first()) else {
        return false;
    };
    match (last, first) {
        // `a + +b`, `a - -b`, `a < !--b`, `a-- > b`.
        (b'+', b'+') | (b'-', b'-' | b'>') | (b'<', b'!') => true,
        // `1 .toFixed()`, `a ? .5 : 1`.
        (b'0'..=b'9' | b'?', b'.') => true,
        // Divisions and regular expressions.
        (b'/', _) | (_, b'/') => true,
        _ => is_word(last) && is_word(first),
    }
}

/// Removes the indentation of a document without preformatted text.
pub(crate) fn html(source: &str) -> Result<String, String> {
    if source.contains("<pre") || source.contains("<textarea") {
        return Err("preformatted text".into());
    }
    Ok(source.lines().map(str::trim_start).collect::<Vec<_>>().join("\n"))
}

/// Removes comments and unneeded white space from a style sheet.
///
/// # Errors
///
/// What is wrong: an unfinished comment or string.
pub(crate) fn css(source: &str) -> Result<String, String> {
    let bytes = source.as_bytes();
    let mut out = String::with_capacity(source.len());
    let (mut at, mut has_gap) = (0, false);
    while at < bytes.len() {
        let length = match (bytes[at], bytes.get(at + 1)) {
            (b'/', Some(b'*')) => {
                at += source[at + 2..].find("*/").ok_or("an unfinished comment")? + 4;
                // Without a space on either side, a comment separates tokens but not selectors: `a/**/b`.
                if !has_gap && bytes.get(at).is_some_and(|byte| !byte.is_ascii_whitespace()) {
                    out.push_str("/**/");
                }
                continue;
            }
            (byte, _) if byte.is_ascii_whitespace() => {
                (at, has_gap) = (at + 1, true);
                continue;
            }
            (quote @ (b'"' | b'\''), _) => {
                let mut end = at + 1;
                while *bytes.get(end).ok_or("an unfinished string")? != quote {
                    end += if bytes[end] == b'\\' { 2 } else { 1 };
                }
                end + 1 - at
            }
            // An unquoted URL can contain any characters.
            (b'(', _) if out.ends_with("url") => source[at..].find(')').ok_or("an unfinished URL")? + 1,
            _ => source[at..].chars().next().map_or(1, char::len_utf8),
        };
        let (last, first) = (out.as_bytes().last().copied().unwrap_or(b'{'), bytes[at]);
        // A space before `:` or `(` distinguishes selectors and conditions.
        if has_gap
            && !matches!(last, b'{' | b'}' | b';' | b',' | b':' | b'\n')
            && !matches!(first, b'{' | b'}' | b';' | b',')
        {
            out.push(' ');
        }
        // The last declaration needs no semicolon. One line per rule.
        if first == b'}' && last == b';' {
            out.pop();
        }
        out.push_str(&source[at..at + length]);
        if first == b'}' {
            out.push('\n');
        }
        (at, has_gap) = (at + length, false);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_lose_their_indentation() {
        assert_eq!(html("<p>\n  a\n    <b>c  d</b>\n").as_deref(), Ok("<p>\na\n<b>c  d</b>"));
        assert!(html("<pre>\n  a</pre>").is_err());
    }

    #[test]
    fn comments_and_white_space_of_scripts_are_removed() {
        for (source, expected) in [
            ("// A comment\n  let a = 1; // another\n\n\n  /* a\n b */ a += 2;\n", "let a=1;a+=2;"),
            ("const f = async (x) => ({ ...x, y: 1 });", "const f=async(x)=>({...x,y:1});"),
            ("return /* a */ x", "return x"),
            ("if (a) {\n  b\n    .c();\n}\nd;\n", "if(a){b.c()}d;"),
            ("a = {\n  b: [c],\n};\r\n\r\nd;", "a={b:[c],};d;"),
            ("() => { a(); }; () => { if (b); }", "()=>{a()};()=>{if(b);}"),
            ("`${\na\n}`", "`${a}`"),
            ("import\na/*\n*/from", "import a from"),
            (
                "class A { #x = 1; static get y() { return this.#x } }",
                "class A{#x=1;static get y(){return this.#x}}",
            ),
        ] {
            assert_eq!(javascript(source).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn literals_are_unchanged() {
        for source in [
            r#"a=" // no comment ""#,
            r"a=' \' /* no comment */ '",
            "a=\"one\\\n  two\"",
            "a=`  // ${b}  /* ${`  ${c}  `} */  \\`  $  `",
            r#"a=/[/  "]  \/  \[/gu"#,
            r#"a=b?/'  /:/"  /"#,
            "a=`${{b:{}}.b}  //`",
        ] {
            assert_eq!(javascript(source).as_deref(), Ok(source));
        }
    }

    #[test]
    fn divisions_differ_from_regular_expressions() {
        // With the other meaning, each quote would open a string, or the comment would be kept.
        for (source, expected) in [
            ("a / b // '", "a / b"),
            ("(a) / b // '", "(a) / b"),
            ("a[0] / b / c // '", "a[0] / b / c"),
            ("x.return / b // '", "x.return / b"),
            ("a++ / b // '", "a++ / b"),
            ("`${a}` / b // '", "`${a}` / b"),
            ("return /'/ // '", "return /'/"),
            ("[...typeof /'/] // '", "[...typeof /'/]"),
            ("if (a) /'/.test(b) // '", "if(a) /'/.test(b)"),
            ("for await (a of b) /'/.test(a) // '", "for await(a of b) /'/.test(a)"),
            ("a = !/'/.test(b) // '", "a=!/'/.test(b)"),
            ("a + +/'/ // '", "a+ +/'/"),
        ] {
            assert_eq!(javascript(source).as_deref(), Ok(expected), "{source}");
        }
        assert_eq!(
            javascript("a\n{} /b/"),
            Err("line 2: `/` after `}`: put what is before it into parentheses".into())
        );
    }

    #[test]
    fn tokens_stay_separate() {
        for source in ["a+ +b", "a- -b", "a-- >b", "a< !--b", "1 .x", "a? .5:1", "typeof a in b", "a+ ++b"] {
            assert_eq!(javascript(source).as_deref(), Ok(source));
        }
    }

    #[test]
    fn unfinished_sources_are_errors() {
        for source in
            ["/* a", "'a", "'a\n'", "`a", "`${a", "a = /b\n/", "a = /[/", "(", "a \\u{2028}\u{2028}"]
        {
            assert!(javascript(source).is_err(), "{source}");
        }
        for source in ["/* a", "a { content: \"", "a { b: url(c"] {
            assert!(css(source).is_err(), "{source}");
        }
    }

    #[test]
    fn style_sheets_keep_their_meaning() {
        for (source, expected) in [
            ("/* a */\na :hover,\nb > c {\n  d: e  f; /* g */\n  h: i;\n}\n", "a :hover,b > c{d:e f;h:i}\n"),
            ("a { content: \"  /* b */  \\\"  \"; }", "a{content:\"  /* b */  \\\"  \"}\n"),
            ("a { b: url(data:c,  /*d*/  ); }", "a{b:url(data:c,  /*d*/  )}\n"),
            (
                "@media (a: b) and (c) {\n  d { e: calc(1px + 2px) !important }\n}",
                "@media (a:b) and (c){d{e:calc(1px + 2px) !important}\n}\n",
            ),
            ("a/* b */.c{}", "a/**/.c{}\n"),
            ("a /* b */ .c{}", "a .c{}\n"),
        ] {
            assert_eq!(css(source).as_deref(), Ok(expected));
        }
    }
}
