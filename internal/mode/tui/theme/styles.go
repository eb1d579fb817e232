package theme

import (
	"strings"
)

// Mod is a set of attributes that text has beside its colours.
type Mod uint8

const (
	Bold Mod = 1 << iota
	Faint
	Italic
	Underline
	Strike
	Reverse
)

// Look is how a piece of text looks.
type Look struct {
	Fg, Bg Token
	Mod    Mod
}

// Styles is a theme made ready for a terminal. It does not change and may be used
// from any goroutine.
type Styles struct {
	profile Profile
	light   bool
	symbols Symbols
	sgr     [tokenCount]string // parameters, "" for none
	paint   [tokenCount]func(string) string
}

// NewStyles makes t ready for a terminal that can show p.
func NewStyles(t *Theme, p Profile) *Styles {
	s := &Styles{profile: p, light: t.Light, symbols: t.Symbols}
	for i := range tokenCount {
		if i != Plain {
			s.sgr[i] = t.colors[i].sgr(p, i.Background())
		}
		s.paint[i] = painter(s.sgr[i], i.Background())
	}
	return s
}

// Profile is what the styles were made for.
func (s *Styles) Profile() Profile { return s.profile }

// Light reports whether the theme is for light backgrounds.
func (s *Styles) Light() bool { return s.light }

// Symbols are the signs that the theme draws with.
func (s *Styles) Symbols() Symbols { return s.symbols }

// WithSymbols is s with other signs, as a setting of the user wants them.
func (s *Styles) WithSymbols(with Symbols) *Styles {
	other := *s
	other.symbols = with
	return &other
}

// Style gives the function that colours text as t. Text that is styled already
// may be given to it: where the inner colour ends, the outer goes on. Each line
// of the text is coloured by itself. Without colours the text comes back as it is.
func (s *Styles) Style(t Token) func(string) string { return s.paint[t] }

func painter(sgr string, background bool) func(string) string {
	if sgr == "" {
		return func(text string) string { return text }
	}
	end := "\x1b[39m"
	if background {
		end = "\x1b[49m"
	}
	open := "\x1b[" + sgr + "m"
	nested := strings.NewReplacer(end, open, "\x1b[0m", "\x1b[0m"+open, "\x1b[m", "\x1b[m"+open, "\n", end+"\n"+open)
	return func(text string) string {
		if text == "" {
			return ""
		}
		if strings.ContainsAny(text, "\x1b\n") {
			text = nested.Replace(text)
		}
		return open + text + end
	}
}

// AppendLook appends the sequence after which text looks like l, whatever it
// looked like before; nothing if the terminal gets no sequences.
func (s *Styles) AppendLook(dst []byte, l Look) []byte {
	if s.profile == NoStyle {
		return dst
	}
	dst = append(dst, "\x1b[0"...)
	for i, code := range [...]string{";1", ";2", ";3", ";4", ";9", ";7"} {
		if l.Mod&(1<<i) != 0 {
			dst = append(dst, code...)
		}
	}
	for _, t := range [...]Token{l.Fg, l.Bg} {
		if sgr := s.sgr[t]; sgr != "" {
			dst = append(append(dst, ';'), sgr...)
		}
	}
	return append(dst, 'm')
}

// Same reports whether two looks cannot be told apart here: they need no
// sequence between them.
func (s *Styles) Same(a, b Look) bool {
	return a == b || s.profile == NoStyle || a.Mod == b.Mod && s.sgr[a.Fg] == s.sgr[b.Fg] && s.sgr[a.Bg] == s.sgr[b.Bg]
}
