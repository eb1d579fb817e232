package pdf

import (
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// glyphNames are names of glyphs that are not the character itself, not composed
// of a letter and an accent, and not a number, each with its character. They are
// those of Adobe's list that fonts of European scripts and of mathematics use.
const glyphNames = `space   exclam ! quotedbl " numbersign # dollar $ percent % ampersand & quotesingle ' parenleft ( parenright )
asterisk * plus + comma , hyphen - period . slash / zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9
colon : semicolon ; less < equal = greater > question ? at @ bracketleft [ backslash \ bracketright ] asciicircum ^
underscore _ grave ` + "`" + ` braceleft { bar | braceright } asciitilde ~ exclamdown ¡ cent ¢ sterling £ fraction ⁄ yen ¥ florin ƒ
section § currency ¤ quotedblleft “ guillemotleft « guilsinglleft ‹ guilsinglright › fi fi fl fl ff ff ffi ffi ffl ffl
endash – dagger † daggerdbl ‡ periodcentered · middot · paragraph ¶ bullet • quotesinglbase ‚ quotedblbase „ quotedblright ”
guillemotright » ellipsis … perthousand ‰ questiondown ¿ quoteleft ‘ quoteright ’ acute ´ circumflex ˆ tilde ˜ macron ¯ breve ˘
dotaccent ˙ dieresis ¨ ring ˚ cedilla ¸ hungarumlaut ˝ ogonek ˛ caron ˇ emdash — AE Æ ordfeminine ª Lslash Ł Oslash Ø OE Œ
ordmasculine º ae æ dotlessi ı dotlessj ȷ lslash ł oslash ø oe œ germandbls ß Eth Ð eth ð Thorn Þ thorn þ brokenbar ¦
copyright © registered ® trademark ™ logicalnot ¬ plusminus ± mu µ degree ° onesuperior ¹ twosuperior ² threesuperior ³
onequarter ¼ onehalf ½ threequarters ¾ multiply × divide ÷ minus − Euro € Dcroat Đ dcroat đ Hbar Ħ hbar ħ Tbar Ŧ tbar ŧ
Eng Ŋ eng ŋ kra ĸ longs ſ nbspace   sfthyphen - softhyphen - figuredash ‒ afii61289 ℓ estimated ℮ numero №
Alpha Α Beta Β Gamma Γ Delta Δ Epsilon Ε Zeta Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ Nu Ν Xi Ξ Omicron Ο Pi Π Rho Ρ
Sigma Σ Tau Τ Upsilon Υ Phi Φ Chi Χ Psi Ψ Omega Ω alpha α beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ iota ι
kappa κ lambda λ nu ν xi ξ omicron ο pi π rho ρ sigma σ sigma1 ς tau τ upsilon υ phi φ phi1 ϕ chi χ psi ψ omega ω omega1 ϖ
theta1 ϑ Upsilon1 ϒ epsilon1 ϵ rho1 ϱ universal ∀ existential ∃ suchthat ∋ asteriskmath ∗ congruent ≅ therefore ∴
perpendicular ⊥ similar ∼ minute ′ second ″ lessequal ≤ infinity ∞ club ♣ diamond ♦ heart ♥ spade ♠ arrowboth ↔ arrowleft ←
arrowup ↑ arrowright → arrowdown ↓ greaterequal ≥ proportional ∝ partialdiff ∂ notequal ≠ equivalence ≡ approxequal ≈
aleph ℵ Ifraktur ℑ Rfraktur ℜ weierstrass ℘ circlemultiply ⊗ circleplus ⊕ emptyset ∅ intersection ∩ union ∪
propersuperset ⊃ reflexsuperset ⊇ notsubset ⊄ propersubset ⊂ reflexsubset ⊆ element ∈ notelement ∉ angle ∠ gradient ∇
product ∏ radical √ dotmath ⋅ logicaland ∧ logicalor ∨ arrowdblboth ⇔ arrowdblleft ⇐ arrowdblup ⇑ arrowdblright ⇒
arrowdbldown ⇓ lozenge ◊ angleleft ⟨ angleright ⟩ summation ∑ integral ∫ square □ filledbox ■ circle ○ filledcircle ●
checkmark ✓ star ★ triangle ▲ negationslash ̸ mapsto ↦ prime ′ epsilonalt ∊ element1 ∈ turnstileleft ⊢ nabla ∇`

// accents are the combining marks that the ends of names mean.
var accents = []struct{ name, mark string }{
	{"acute", "\u0301"},
	{"grave", "\u0300"},
	{"circumflex", "\u0302"},
	{"dieresis", "\u0308"},
	{"tilde", "\u0303"},
	{"ring", "\u030a"},
	{"cedilla", "\u0327"},
	{"caron", "\u030c"},
	{"breve", "\u0306"},
	{"macron", "\u0304"},
	{"ogonek", "\u0328"},
	{"dotaccent", "\u0307"},
	{"hungarumlaut", "\u030b"},
	{"commaaccent", "\u0326"},
	{"dotbelow", "\u0323"},
	{"tonos", "\u0301"},
}

var glyphTable = sync.OnceValue(func() map[string]string {
	words := strings.FieldsFunc(glyphNames, func(r rune) bool { return r == ' ' || r == '\n' })
	table := map[string]string{"space": " ", "nbspace": "\u00a0"}
	for i := 0; i+1 < len(words); {
		if words[i] == "space" || words[i] == "nbspace" { // their character fell to the split
			i++
			continue
		}
		table[words[i]] = words[i+1]
		i += 2
	}
	return table
})

// glyphText is the text of a glyph by its name, "" of names that mean nothing
// (g12, cid45).
func glyphText(glyph string) string {
	glyph, _, _ = strings.Cut(glyph, ".") // a variant: "a.alt"
	if len(glyph) > 64 {
		return ""
	}
	if s, ok := glyphTable()[glyph]; ok {
		return s
	}
	if utf8.RuneCountInString(glyph) == 1 {
		return glyph
	}
	if parts := strings.Split(glyph, "_"); len(parts) > 1 && len(parts) <= 8 { // a ligature: "f_f_i"
		var b strings.Builder
		for _, part := range parts {
			b.WriteString(glyphText(part))
		}
		return b.String()
	}
	if s := glyphByNumber(glyph); s != "" {
		return s
	}
	for _, a := range accents {
		if letter, ok := strings.CutSuffix(glyph, a.name); ok && letter != "" {
			base := glyphText(letter)
			if utf8.RuneCountInString(base) == 1 {
				return norm.NFC.String(base + a.mark)
			}
		}
	}
	return ""
}

// glyphByNumber knows "uni20AC", "u1F600" and the Cyrillic letters of "afii".
func glyphByNumber(glyph string) string {
	if digits, ok := strings.CutPrefix(glyph, "uni"); ok && len(digits) >= 4 && len(digits)%4 == 0 {
		var b strings.Builder
		for ; digits != ""; digits = digits[4:] {
			n, err := strconv.ParseUint(digits[:4], 16, 16)
			if err != nil {
				return ""
			}
			b.WriteRune(rune(n))
		}
		return b.String()
	}
	if digits, ok := strings.CutPrefix(glyph, "u"); ok && len(digits) >= 4 && len(digits) <= 6 {
		if n, err := strconv.ParseUint(digits, 16, 21); err == nil {
			return string(rune(n))
		}
	}
	digits, ok := strings.CutPrefix(glyph, "afii")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil {
		return ""
	}
	switch {
	case n == 10023, n == 10071:
		return map[int]string{10023: "Ё", 10071: "ё"}[n]
	case n >= 10017 && n <= 10022:
		return string(rune(0x410 + n - 10017))
	case n >= 10024 && n <= 10049:
		return string(rune(0x416 + n - 10024))
	case n >= 10065 && n <= 10070:
		return string(rune(0x430 + n - 10065))
	case n >= 10072 && n <= 10097:
		return string(rune(0x436 + n - 10072))
	}
	return ""
}

// standardHigh is the upper half of Adobe's standard encoding, from 0xA1 on.
const standardHigh = "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ\x00–†‡·\x00¶•‚„”»…‰\x00¿\x00`´ˆ˜¯˘˙¨\x00˚¸\x00˝˛ˇ—\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
	"Æ\x00ª\x00\x00\x00\x00ŁØŒº\x00\x00\x00\x00\x00æ\x00\x00\x00ı\x00\x00łøœß"

// symbolLow and symbolHigh are the encoding of the font Symbol, from 0x20 and
// 0xA0 on.
const (
	symbolLow = " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"

	symbolHigh = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊⟨®©™∑"
)
