//! The encodings of text logs: names and detection.

use std::fmt;

use encoding_rs::Encoding;

/// The encoding of a text log.
///
/// Windows writes text logs in the machine's ANSI code page, which the file does not name. A byte order mark
/// indicates UTF-8 or UTF-16; UTF-16 without one is detected by the zeros in its first characters. Otherwise the
/// first characters beyond ASCII decide ([`TextEncoding::guess`]): UTF-8 if at least as many of them are valid UTF-8
/// as are invalid (invalid ones become U+FFFD and are reported as damage), else the most plausible code page.
///
/// ```
/// use tachograph_logs::TextEncoding;
/// assert_eq!("cp932".parse::<TextEncoding>()?.to_string(), "Windows code page 932");
/// # Ok::<(), tachograph_logs::text::UnknownEncoding>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextEncoding {
    /// UTF-8, or ASCII.
    Utf8,
    /// UTF-8 with a byte order mark. The same as UTF-8 when reading, which always detects the mark.
    Utf8WithBom,
    /// UTF-16, little-endian.
    Utf16Le,
    /// UTF-16, big-endian.
    Utf16Be,
    /// An ANSI code page of Windows.
    CodePage(CodePage),
}

/// An ANSI code page of Windows: an index into `CODE_PAGES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodePage(u8);

/// A code page: its number, its conversion table, and words with characters beyond ASCII, separated by `|`. The words
/// occur in Windows' counter and time zone names in the page's languages.
struct CodePageInfo {
    number: u16,
    table: &'static Encoding,
    words: &'static str,
}

const fn page(number: u16, table: &'static Encoding, words: &'static str) -> CodePageInfo {
    CodePageInfo { number, table, words }
}

/// Western Europe is first: among equally good guesses, the first is used.
static CODE_PAGES: [CodePageInfo; 13] = [
    page(
        1252,
        encoding_rs::WINDOWS_1252,
        "Mémoire|Système|Größe|Länge|Übertragung|Europäische|Memória|España|\
        estándar|Västeuropa|été|Länsi-Euroopan|Français|física|lógico",
    ),
    page(
        1250,
        encoding_rs::WINDOWS_1250,
        "Pamięć|Paměť|Memória-|idő|Środkowo|Střední|Długość|Délka|\
        Uporabniški čas|procesoru čas|Össz",
    ),
    page(1251, encoding_rs::WINDOWS_1251, "роцесс|амять|время|Время|Диск|диск|стем|зима|лето|амет"),
    page(1253, encoding_rs::WINDOWS_1253, "Μνήμη|πεξεργαστής|ώρα|Ώρα"),
    page(1254, encoding_rs::WINDOWS_1254, "İşlemci|Türkiye|Kullanılabilir|Saati|Zamanı"),
    page(1255, encoding_rs::WINDOWS_1255, "זיכרון|מעבד|שעון|זמן"),
    page(1256, encoding_rs::WINDOWS_1256, "الذاكرة|المعالج|توقيت|وقت"),
    page(1257, encoding_rs::WINDOWS_1257, "Atmiņa|žiemos|vasarą|atmintį|Mälu|Füüsili"),
    page(1258, encoding_rs::WINDOWS_1258, "Bô\u{323} nhơ\u{301}|Giơ\u{300}|bô\u{323} nhơ\u{301}"),
    page(932, encoding_rs::SHIFT_JIS, "プロセッサ|メモリ|標準時|時間|ディスク"),
    page(936, encoding_rs::GBK, "处理器|内存|标准时间|时间|磁盘"),
    page(949, encoding_rs::EUC_KR, "프로세서|메모리|표준시|시간|디스크"),
    page(950, encoding_rs::BIG5, "處理器|記憶體|標準時間|時間|磁碟"),
];

impl CodePage {
    /// The code page with this number; `None` unless it is 1250 to 1258, 932, 936, 949 or 950.
    #[must_use]
    pub fn of_number(number: u16) -> Option<Self> {
        Self::find(|info| info.number == number)
    }

    /// The number of the code page in Windows.
    #[must_use]
    pub fn number(self) -> u16 {
        self.info().number
    }

    pub(super) fn table(self) -> &'static Encoding {
        self.info().table
    }

    fn info(self) -> &'static CodePageInfo {
        &CODE_PAGES[usize::from(self.0)]
    }

    fn find(matches: impl Fn(&CodePageInfo) -> bool) -> Option<Self> {
        CODE_PAGES.iter().position(matches).map(|index| Self(index as u8))
    }

    /// Decodes the bytes with this code page, and counts the characters in words that occur in logs of this code page. A higher
    /// count makes the code page more plausible.
    fn count_recognized_characters(self, bytes: &[u8]) -> usize {
        let (text, _) = self.table().decode_without_bom_handling(bytes);
        let words = self.info().words.split('|');
        words.map(|word| text.matches(word).count() * word.chars().count()).sum()
    }
}

impl TextEncoding {
    /// Guesses the encoding of a text from `bytes`, which start with its first byte beyond ASCII.
    ///
    /// Returns UTF-8 if at least as many characters beyond ASCII are valid UTF-8 as are invalid. Otherwise, returns
    /// the code page in which the most text belongs to known words of Windows' counter and time zone names; if no
    /// word is found, the code page that chardetng detects.
    #[must_use]
    pub fn guess(bytes: &[u8]) -> Self {
        if looks_like_utf8(bytes) {
            return Self::Utf8;
        }
        let pages = (0..CODE_PAGES.len()).map(|index| CodePage(index as u8));
        let best = pages
            .map(|page| (page.count_recognized_characters(bytes), page))
            .rev()
            .max_by_key(|&(words, _)| words);
        match best {
            Some((words, page)) if words > 0 => Self::CodePage(page),
            _ => Self::CodePage(detect_with_chardetng(bytes)),
        }
    }

    /// The code page, if the encoding is one.
    pub(super) fn code_page(self) -> Option<CodePage> {
        match self {
            Self::CodePage(page) => Some(page),
            _ => None,
        }
    }
}

/// Whether at least as many characters beyond ASCII are valid UTF-8 as are invalid, or the only invalid one is cut
/// off at the end.
fn looks_like_utf8(bytes: &[u8]) -> bool {
    let (mut valid, mut invalid) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        valid += chunk.valid().chars().filter(|character| !character.is_ascii()).count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    let is_cut_off = std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none());
    invalid == usize::from(is_cut_off) || valid >= invalid
}

/// The code page that chardetng detects, or the code page for the same alphabet.
fn detect_with_chardetng(bytes: &[u8]) -> CodePage {
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let found = detector.guess(None, chardetng::Utf8Detection::Deny);
    let same = CodePage::find(|info| info.table == found);
    same.or_else(|| CodePage::of_number(code_page_for_alphabet_of(found))).unwrap_or(CodePage(0))
}

/// The code page for the alphabet of an encoding in which Windows writes no logs.
fn code_page_for_alphabet_of(encoding: &'static Encoding) -> u16 {
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

/// The name for messages: `UTF-8`, `Windows code page 1252`.
impl fmt::Display for TextEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Utf8 => f.write_str("UTF-8"),
            Self::Utf8WithBom => f.write_str("UTF-8 with a byte order mark"),
            Self::Utf16Le | Self::Utf16Be => f.write_str("UTF-16"),
            Self::CodePage(page) => write!(f, "Windows code page {}", page.number()),
        }
    }
}

/// The error for the name of an unknown or unsupported encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownEncoding;

impl fmt::Display for UnknownEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown encoding: use utf-8, utf-8-bom, utf-16le, utf-16be, or a code page (1250 to 1258, 932, 936, 949, 950)")
    }
}

impl std::error::Error for UnknownEncoding {}

/// Parses common names: `utf-8`, `utf-8-bom`, `utf-16`, `1252`, `cp1252`, `windows-1252`, `shift_jis`, `gbk`.
impl std::str::FromStr for TextEncoding {
    type Err = UnknownEncoding;

    fn from_str(name: &str) -> Result<Self, UnknownEncoding> {
        let name = name.trim().to_ascii_lowercase();
        match name.as_str() {
            "utf-8" | "utf8" => return Ok(Self::Utf8),
            "utf-8-bom" | "utf8-bom" | "utf-8-sig" => return Ok(Self::Utf8WithBom),
            "utf-16" | "utf-16le" | "utf16" | "utf16le" | "unicode" => return Ok(Self::Utf16Le),
            "utf-16be" | "utf16be" => return Ok(Self::Utf16Be),
            _ => {}
        }
        let digits = name.trim_start_matches("windows-").trim_start_matches("cp").trim_start_matches("ms");
        let by_number = digits.parse().ok().and_then(CodePage::of_number);
        let by_label = || {
            let table = Encoding::for_label(name.as_bytes())?;
            let table = if table == encoding_rs::GB18030 { encoding_rs::GBK } else { table };
            CodePage::find(|info| info.table == table)
        };
        by_number.or_else(by_label).map(Self::CodePage).ok_or(UnknownEncoding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_names_are_parsed() {
        for (name, number) in
            [("1252", 1252), ("cp1251", 1251), ("Windows-1250", 1250), ("shift_jis", 932), ("gb2312", 936)]
        {
            let page = name.parse().ok().and_then(TextEncoding::code_page).map(CodePage::number);
            assert_eq!(page, Some(number), "{name}");
        }
        assert_eq!("UTF-8-BOM".parse(), Ok(TextEncoding::Utf8WithBom));
        for name in ["", "437", "koi8-r", "utf-7", "65001"] {
            assert_eq!(name.parse::<TextEncoding>(), Err(UnknownEncoding), "{name}");
        }
    }

    #[test]
    fn every_page_is_guessed_from_its_words() {
        for (index, info) in CODE_PAGES.iter().enumerate() {
            let mut found = 0;
            for word in info.words.split('|') {
                let path = format!("{word})(480)\",\"\\\\M\\{word}(_Total)\\{word}/sec\"\r\n");
                let (bytes, _, has_unmappable) = info.table.encode(&path);
                assert!(!has_unmappable, "{word}");
                let start = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or_default();
                let guess = TextEncoding::guess(&bytes[start..]);
                found += usize::from(guess == TextEncoding::CodePage(CodePage(index as u8)));
            }
            let count = info.words.split('|').count();
            assert!(2 * found > count, "{}: {found} of {count}", info.number);
        }
    }

    #[test]
    fn utf_8_is_distinguished_from_code_pages() {
        let guess = |bytes: &[u8]| TextEncoding::guess(bytes);
        assert_eq!(guess("äöü".as_bytes()), TextEncoding::Utf8);
        assert_eq!(guess(b"\xc3\xa4, \xff"), TextEncoding::Utf8);
        // The first character of a longer text, cut off.
        assert_eq!(guess(b"\xc3"), TextEncoding::Utf8);
        assert_ne!(guess(b"\xfc,1"), TextEncoding::Utf8);
        // Includes two characters of code page 936 that are valid UTF-8 by chance.
        let (text, ..) = encoding_rs::GBK.encode("联通处理器内存磁盘");
        assert_eq!(guess(&text).to_string(), "Windows code page 936");
    }
}
