//! The two text formats, and the selection of one by the `Accept` header.

/// A text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exposition {
    /// Prometheus' text format.
    PrometheusText,
    /// OpenMetrics.
    OpenMetrics,
}

impl Exposition {
    /// The value of `Content-Type`.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::PrometheusText => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// The format that an `Accept` header prefers. Returns OpenMetrics if the header names both formats with the same quality;
    /// Prometheus' text format if the header is absent or names neither. Wildcards are ignored.
    ///
    /// ```
    /// use tachograph_metrics::Exposition;
    ///
    /// let prometheus = "application/openmetrics-text;version=1.0.0,\
    ///     application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    /// assert_eq!(Exposition::from_accept(Some(prometheus)), Exposition::OpenMetrics);
    /// assert_eq!(Exposition::from_accept(Some("text/html,*/*;q=0.8")), Exposition::PrometheusText);
    /// ```
    pub fn from_accept(header: Option<&str>) -> Self {
        let (mut open_metrics, mut text) = (0, 0);
        for range in header.unwrap_or_default().split(',') {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let (mut quality, mut version) = (1000, None);
            for parameter in parts {
                let Some((name, value)) = parameter.split_once('=') else { continue };
                let value = value.trim().trim_matches('"');
                match name.trim() {
                    name if name.eq_ignore_ascii_case("q") => quality = parse_thousandths(value),
                    name if name.eq_ignore_ascii_case("version") => version = Some(value),
                    _ => {}
                }
            }
            // 0.0.1 was the draft of the same format.
            let is_known = |known: &[&str]| version.is_none_or(|version| known.contains(&version));
            if media.eq_ignore_ascii_case("application/openmetrics-text") && is_known(&["1.0.0", "0.0.1"]) {
                open_metrics = open_metrics.max(quality);
            } else if media.eq_ignore_ascii_case("text/plain") && is_known(&["0.0.4"]) {
                text = text.max(quality);
            }
        }
        if open_metrics > 0 && open_metrics >= text { Self::OpenMetrics } else { Self::PrometheusText }
    }
}

/// A quality of 0 to 1 in thousandths; 0 if it is invalid.
fn parse_thousandths(text: &str) -> u32 {
    match text.parse::<f64>() {
        Ok(quality) if (0.0..=1.0).contains(&quality) => (quality * 1000.0) as u32,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::Exposition::{self, OpenMetrics, PrometheusText};

    #[test]
    fn the_accept_header_selects_the_format() {
        let v3 = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
            application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,\
            text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        let protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
            encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5";
        let cases = [
            (None, PrometheusText),
            (Some(""), PrometheusText),
            (Some("*/*"), PrometheusText),
            (Some(v3), OpenMetrics),
            (Some(protobuf), OpenMetrics),
            (Some("text/plain"), PrometheusText),
            (Some("application/openmetrics-text"), OpenMetrics),
            (Some("application/openmetrics-text; version=2.0.0"), PrometheusText),
            (Some("APPLICATION/OpenMetrics-Text; Version=\"1.0.0\""), OpenMetrics),
            (Some("application/openmetrics-text;q=0,text/plain"), PrometheusText),
            (Some("application/openmetrics-text;q=0.4,text/plain;q=0.5"), PrometheusText),
            (Some("application/openmetrics-text;q=0.5,text/plain;q=0.5"), OpenMetrics),
            (Some("application/openmetrics-text;q=nan,text/plain;q=-1"), PrometheusText),
            (Some(";;;,,q=1;=,"), PrometheusText),
        ];
        for (header, expected) in cases {
            assert_eq!(Exposition::from_accept(header), expected, "{header:?}");
        }
    }
}
