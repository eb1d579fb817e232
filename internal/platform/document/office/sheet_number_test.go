package office

import "testing"

func TestDateFormat(t *testing.T) {
	for code, want := range map[string]dateKind{
		"General": notDate, "0.00": notDate, "#,##0": notDate, `"day" 0`: notDate, `0 "h`: timeOnly, `\d0`: notDate, "[Red]0.0": notDate, "[$-409]0": notDate,
		"yyyy-mm-dd": dateOnly, "d/m/yy": dateOnly, "[$-409]mmmm d, yyyy;@": dateOnly, "hh:mm": timeOnly, "[h]:mm:ss": timeOnly, "mm:ss.0": timeOnly,
		"m/d/yy h:mm": dateTime, "0;d": notDate, "_-d": dateOnly, "_d0": notDate,
	} {
		if got := dateFormat(code); got != want {
			t.Errorf("%s: got %d, want %d", code, got, want)
		}
	}
	for id, want := range map[string]dateKind{"0": notDate, "14": dateOnly, "20": timeOnly, "22": dateTime, "45": timeOnly, "31": dateOnly, "49": notDate, "x": notDate} {
		if got := builtInFormat(id); got != want {
			t.Errorf("%s: got %d, want %d", id, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, tt := range []struct {
		v     string
		kind  dateKind
		epoch int
		want  string
	}{
		{"1", notDate, 0, "1"},
		{"0.1", notDate, 0, "0.1"},
		{"1.1000000000000001", notDate, 0, "1.1"},
		{"text", notDate, 0, "text"},
		{"", notDate, 0, ""},
		{"1E+300", dateOnly, 0, "1E+300"},
		{"-1", dateOnly, 0, "-1"},
		{"NaN", dateOnly, 0, "NaN"},
		{"9007199254740993", notDate, 0, "9007199254740993"},
		{"1", dateOnly, 0, "1899-12-31"},
		{"60", dateOnly, 0, "1900-02-28"},
		{"61", dateOnly, 0, "1900-03-01"},
		{"45306", dateOnly, 0, "2024-01-15"},
		{"43844", dateOnly, 1462, "2024-01-15"},
		{"0.75", timeOnly, 0, "18:00:00"},
		{"0.5", dateTime, 0, "12:00:00"},
		{"45306.999999", dateTime, 0, "2024-01-16 00:00:00"},
	} {
		if got := number(tt.v, tt.kind, tt.epoch); got != tt.want {
			t.Errorf("%s as %d: got %s, want %s", tt.v, tt.kind, got, tt.want)
		}
	}
}

func TestColumnOf(t *testing.T) {
	for ref, want := range map[string]int{"A1": 0, "z9": 25, "AA10": 26, "XFD1": 16383, "XFE1": 16384, "ZZZZZZZZZ1": maxColumns, "": 7, "12": 7} {
		if got := columnOf(ref, 7); min(got, maxColumns) != want {
			t.Errorf("%q: got %d, want %d", ref, got, want)
		}
	}
}
