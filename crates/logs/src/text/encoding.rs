//! How the characters of a text log are encoded: names, and finding out.

use std::fmt;

use encoding_rs::Encoding;

/// How the characters of a text log are encoded.
///
/// Windows writes text logs in the machine's ANSI code page, which nothing in the file names. A mark at the start of the
/// file says UTF-8 or UTF-16; UTF-16 without a mark is known by the zeros of its first characters. Otherwise the first
/// characters beyond ASCII decide ([`TextEncoding::guess`]): where more of them are UTF-8 than are not, all that are not
/// become U+FFFD, and that is damage. Else it is the code page in which they make the most sense.
///
/// ```
/// use tachograph_logs::TextEncoding;
/// assert_eq!("cp932".parse::<TextEncoding>()?.to_string(), "windows code page 932");
/// # Ok::<(), tachograph_logs::text::UnknownEncoding>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextEncoding {
    /// UTF-8, or ASCII.
    Utf8,
    /// UTF-8 with a mark at the start. As an input the same as UTF-8, whose mark is always known.
    Utf8WithMark,
    /// UTF-16, the low byte first.
    Utf16Le,
    /// UTF-16, the high byte first.
    Utf16Be,
    /// An ANSI code page of Windows.
    CodePage(CodePage),
}

/// An ANSI code page of Windows: its place in `CODE_PAGES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodePage(u8);

/// A code page: its number, its table, and words of Windows' counter and time zone names in its languages. Words of ASCII
/// alone would say nothing.
struct Known {
    number: u16,
    table: &'static Encoding,
    words: &'static [&'static str],
}

const fn known(number: u16, table: &'static Encoding, words: &'static [&'static str]) -> Known {
    Known { number, table, words }
}

/// Western Europe comes first: of equally good guesses the first one counts.
static CODE_PAGES: [Known; 13] = [
    known(
        1252,
        encoding_rs::WINDOWS_1252,
        &[
            "Mémoire",
            "Système",
            "Größe",
            "Länge",
            "Übertragung",
            "Europäische",
            "Memória",
            "España",
            "estándar",
            "Västeuropa",
            "été",
            "Länsi-Euroopan",
            "Français",
            "física",
            "lógico",
        ],
    ),
    known(
        1250,
        encoding_rs::WINDOWS_1250,
        &[
            "Pamięć",
            "Paměť",
            "Memória-",
            "idő",
            "Środkowo",
            "Střední",
            "Długość",
            "Délka",
            "Uporabniški čas",
            "procesoru čas",
            "Össz",
        ],
    ),
    known(
        1251,
        encoding_rs::WINDOWS_1251,
        &["роцесс", "амять", "время", "Время", "Диск", "диск", "стем", "зима", "лето", "амет"],
    ),
    known(1253, encoding_rs::WINDOWS_1253, &["Μνήμη", "πεξεργαστής", "ώρα", "Ώρα"]),
    known(1254, encoding_rs::WINDOWS_1254, &["İşlemci", "Türkiye", "Kullanılabilir", "Saati", "Zamanı"]),
    known(1255, encoding_rs::WINDOWS_1255, &["זיכרון", "מעבד", "שעון", "זמן"]),
    known(1256, encoding_rs::WINDOWS_1256, &["الذاكرة", "المعالج", "توقيت", "وقت"]),
    known(1257, encoding_rs::WINDOWS_1257, &["Atmiņa", "žiemos", "vasarą", "atmintį", "Mälu", "Füüsili"]),
    known(1258, encoding_rs::WINDOWS_1258, &["Bô\u{323} nhơ\u{301}", "Giơ\u{300}", "bô\u{323} nhơ\u{301}"]),
    known(932, encoding_rs::SHIFT_JIS, &["プロセッサ", "メモリ", "標準時", "時間", "ディスク"]),
    known(936, encoding_rs::GBK, &["处理器", "内存", "标准时间", "时间", "磁盘"]),
    known(949, encoding_rs::EUC_KR, &["프로세서", "메모리", "표준시", "시간", "디스크"]),
    known(950, encoding_rs::BIG5, &["處理器", "記憶體", "標準時間", "時間", "磁碟"]),
];

impl CodePage {
    /// The code page of a number, such as 1252; `None` where it is none of 1250 to 1258, 932, 936, 949 and 950.
    #[must_use]
    pub fn of_number(number: u16) -> Option<Self> {
        Self::find(|known| known.number == number)
    }

    /// The number that Windows gives it.
    #[must_use]
    pub fn number(self) -> u16 {
        self.known().number
    }

    pub(super) fn table(self) -> &'static Encoding {
        self.known().table
    }

    fn known(self) -> &'static Known {
        &CODE_PAGES[usize::from(self.0)]
    }

    fn find(is_it: impl Fn(&Known) -> bool) -> Option<Self> {
        CODE_PAGES.iter().position(is_it).map(|place| Self(place as u8))
    }

    /// How well bytes make sense in this code page: how many characters of known words there are.
    fn words_in(self, bytes: &[u8]) -> usize {
        let (text, _) = self.table().decode_without_bom_handling(bytes);
        let words = self.known().words.iter();
        words.map(|word| text.matches(word).count() * word.chars().count()).sum()
    }
}

impl TextEncoding {
    /// The encoding of a text without a mark, from its start: `bytes` begin with its first byte beyond ASCII.
    ///
    /// UTF-8 where more of the characters beyond ASCII are valid UTF-8 than bytes are not. Else the code page with the most
    /// text of Windows' own counter and time zone names; without any of them, the one that chardetng finds.
    #[must_use]
    pub fn guess(bytes: &[u8]) -> Self {
        if is_utf8(bytes) {
            return Self::Utf8;
        }
        let pages = (0..CODE_PAGES.len()).map(|place| CodePage(place as u8));
        let best = pages.map(|page| (page.words_in(bytes), page)).rev().max_by_key(|&(words, _)| words);
        match best {
            Some((words, page)) if words > 0 => Self::CodePage(page),
            _ => Self::CodePage(detected(bytes)),
        }
    }

    /// The table of a code page.
    pub(super) fn code_page(self) -> Option<CodePage> {
        match self {
            Self::CodePage(page) => Some(page),
            _ => None,
        }
    }
}

/// Whether more characters beyond ASCII are valid UTF-8 than bytes are not. A character that the end cuts is neither.
fn is_utf8(bytes: &[u8]) -> bool {
    let (mut valid, mut bad) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        valid += chunk.valid().chars().filter(|character| !character.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    let ends_cut = std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none());
    bad == usize::from(ends_cut) || valid >= bad
}

/// The code page that chardetng finds: that of the alphabet where it finds another encoding of it.
fn detected(bytes: &[u8]) -> CodePage {
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let found = detector.guess(None, chardetng::Utf8Detection::Deny);
    let same = CodePage::find(|known| known.table == found);
    same.or_else(|| CodePage::of_number(alphabet_of(found))).unwrap_or(CodePage(0))
}

/// The code page of the alphabet of an encoding that Windows does not write logs in.
fn alphabet_of(encoding: &'static Encoding) -> u16 {
    match encoding.name() {
        "EUC-JP" | "ISO-2022-JP" => 932,
        "gb18030" => 936,
        "ISO-8859-2" => 1250,
        "KOI8-R" | "KOI8-U" | "IBM866" | "ISO-8859-5" | "x-mac-cyrillic" => 1251,
        "ISO-8859-7" => 1253,
        "ISO-8859-8" | "ISO-8859-8-I" => 1255,
        "ISO-8859-6" => 1256,
        "ISO-8859-4" | "ISO-8859-13" => 1257,
        _ => 1252,
    }
}

/// As people call it: `UTF-8`, `windows code page 1252`.
impl fmt::Display for TextEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Utf8 => f.write_str("UTF-8"),
            Self::Utf8WithMark => f.write_str("UTF-8 with a mark"),
            Self::Utf16Le | Self::Utf16Be => f.write_str("UTF-16"),
            Self::CodePage(page) => write!(f, "windows code page {}", page.number()),
        }
    }
}

/// The name of an encoding that text logs are not read in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownEncoding;

impl fmt::Display for UnknownEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no known encoding: utf-8, utf-8-bom, utf-16le, utf-16be, or a code page: 1250 to 1258, 932, 936, 949, 950")
    }
}

impl std::error::Error for UnknownEncoding {}

/// A name as people write it: `utf-8`, `utf-8-bom`, `utf-16`, `1252`, `cp1252`, `windows-1252`, `shift_jis`, `gbk`.
impl std::str::FromStr for TextEncoding {
    type Err = UnknownEncoding;

    fn from_str(name: &str) -> Result<Self, UnknownEncoding> {
        let name = name.trim().to_ascii_lowercase();
        match name.as_str() {
            "utf-8" | "utf8" => return Ok(Self::Utf8),
            "utf-8-bom" | "utf8-bom" | "utf-8-sig" => return Ok(Self::Utf8WithMark),
            "utf-16" | "utf-16le" | "utf16" | "utf16le" | "unicode" => return Ok(Self::Utf16Le),
            "utf-16be" | "utf16be" => return Ok(Self::Utf16Be),
            _ => {}
        }
        let digits = name.trim_start_matches("windows-").trim_start_matches("cp").trim_start_matches("ms");
        let by_number = digits.parse().ok().and_then(CodePage::of_number);
        let by_label = || {
            let table = Encoding::for_label(name.as_bytes())?;
            let table = if table == encoding_rs::GB18030 { encoding_rs::GBK } else { table };
            CodePage::find(|known| known.table == table)
        };
        by_number.or_else(by_label).map(Self::CodePage).ok_or(UnknownEncoding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, number) in
            [("1252", 1252), ("cp1251", 1251), ("Windows-1250", 1250), ("shift_jis", 932), ("gb2312", 936)]
        {
            let page = name.parse().ok().and_then(TextEncoding::code_page).map(CodePage::number);
            assert_eq!(page, Some(number), "{name}");
        }
        assert_eq!("UTF-8-BOM".parse(), Ok(TextEncoding::Utf8WithMark));
        for name in ["", "437", "koi8-r", "utf-7", "65001"] {
            assert_eq!(name.parse::<TextEncoding>(), Err(UnknownEncoding), "{name}");
        }
    }

    #[test]
    fn every_page_is_known_by_its_words() {
        for (place, known) in CODE_PAGES.iter().enumerate() {
            let mut found = 0;
            for word in known.words {
                let path = format!("{word})(480)\",\"\\\\M\\{word}(_Total)\\{word}/sec\"\r\n");
                let (bytes, _, has_unmappable) = known.table.encode(&path);
                assert!(!has_unmappable, "{word}");
                let start = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or_default();
                let guess = TextEncoding::guess(&bytes[start..]);
                found += usize::from(guess == TextEncoding::CodePage(CodePage(place as u8)));
            }
            assert!(2 * found > known.words.len(), "{}: {found} of {}", known.number, known.words.len());
        }
    }

    #[test]
    fn utf_8_or_not() {
        let guess = |bytes: &[u8]| TextEncoding::guess(bytes);
        assert_eq!(guess("äöü".as_bytes()), TextEncoding::Utf8);
        assert_eq!(guess(b"\xc3\xa4, \xff"), TextEncoding::Utf8);
        // The first character of a longer text, cut.
        assert_eq!(guess(b"\xc3"), TextEncoding::Utf8);
        assert_ne!(guess(b"\xfc,1"), TextEncoding::Utf8);
        // Two characters of code page 936 that are valid UTF-8 by chance, among others.
        let (text, ..) = encoding_rs::GBK.encode("联通处理器内存磁盘");
        assert_eq!(guess(&text).to_string(), "windows code page 936");
    }
}
