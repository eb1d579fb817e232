package secret

import (
	"encoding/base64"
	"encoding/json"
	"hash/crc32"
	"math"
	"strings"
)

// class is a set of bytes.
type class [256]bool

// newClass makes a set of the bytes of spec, where "a-z" is a range and a '-' at
// the end is itself.
func newClass(spec string) *class {
	var c class
	for i := 0; i < len(spec); i++ {
		if i+2 < len(spec) && spec[i+1] == '-' {
			for b := int(spec[i]); b <= int(spec[i+2]); b++ {
				c[b] = true
			}
			i += 2
			continue
		}
		c[spec[i]] = true
	}
	return &c
}

var (
	digits    = newClass("0-9")
	lowers    = newClass("a-z")
	uppers    = newClass("A-Z")
	hexDigits = newClass("0-9a-fA-F")
	hexParts  = newClass("0-9a-fA-F._-")
	alnum     = newClass("0-9A-Za-z")
	wordByte  = newClass("0-9A-Za-z_")
	urlWord   = newClass("0-9A-Za-z_-")
	base64Std = newClass("0-9A-Za-z+/")
	base64Any = newClass("0-9A-Za-z+/=_-")
	tokenByte = newClass("0-9A-Za-z._~+/=-")
	schemes   = newClass("0-9A-Za-z+.-")
)

// run is the end of the longest run of bytes of c that begins at i, at most limit long.
func (c *class) run(s string, i, limit int) int {
	end := min(len(s), i+limit)
	for i < end && c[s[i]] {
		i++
	}
	return i
}

// all reports whether s holds only bytes of c.
func (c *class) all(s string) bool { return c.run(s, 0, len(s)) == len(s) }

// any reports whether s holds a byte of c.
func (c *class) any(s string) bool {
	for i := range len(s) {
		if c[s[i]] {
			return true
		}
	}
	return false
}

// entropy is the Shannon entropy of s in bits per byte.
func entropy(s string) float64 {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	bits, n := 0.0, float64(len(s))
	for _, c := range counts {
		if c > 0 {
			p := float64(c) / n
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// random reports whether s looks drawn by chance rather than written: its entropy
// is at least 0.7 of what its length and alphabet allow, it is no example, and
// it has a digit or both cases.
func random(s string) bool {
	if len(s) == 0 || sample(s) {
		return false
	}
	letters := 62.0
	if hexParts.all(s) {
		letters = 16
	}
	if digits.all(s) {
		letters = 10
	} else if !digits.any(s) && (!lowers.any(s) || !uppers.any(s)) {
		return false
	}
	return entropy(s) >= 0.7*math.Log2(min(float64(len(s)), letters))
}

// samples are what documentation writes where a secret would stand.
var samples = []string{
	"example", "xxxxx", "placeholder", "your_", "your-", "yourkey", "yourtoken", "yourapi", "redacted", "dummy",
	"changeme", "change-me", "change_me", "0000000", "1234567890", "123456789", "abcdefgh", "*****", ".....", "<", "${", "{{",
}

// sample reports whether s stands for a secret instead of being one.
func sample(s string) bool { return containsAny(s, samples) }

// containsAny reports whether s contains one of the words, which are in lower case,
// in any letter case. Unlike strings.ToLower it takes no memory: it runs over
// ordinary code.
func containsAny(s string, words []string) bool {
	for i := range len(s) {
		c := lower(s[i])
		for _, w := range words {
			if c == w[0] && len(s)-i >= len(w) && equalFold(s[i:i+len(w)], w) {
				return true
			}
		}
	}
	return false
}

// equalFold reports whether s is w, which is in lower case and as long.
func equalFold(s, w string) bool {
	for i := range len(s) {
		if lower(s[i]) != w[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if uppers[c] {
		return c | 0x20
	}
	return c
}

// leftEdge reports whether a token may begin at i: not in the middle of a word. An
// escape that stands before it (\n, \u003d, %20) is not part of a word.
func leftEdge(s string, i int) bool {
	if i == 0 || !wordByte[s[i-1]] {
		return i == 0 || !inBlob(s, i)
	}
	if i >= 2 && s[i-2] == '\\' && strings.IndexByte("nrtbf", s[i-1]) >= 0 {
		return true
	}
	if i >= 6 && s[i-6] == '\\' && s[i-5] == 'u' && hexDigits.all(s[i-4:i]) {
		return true
	}
	return i >= 3 && s[i-3] == '%' && hexDigits.all(s[i-2:i])
}

// blobRun is how many bytes of base64 before a token make it a part of a larger
// encoded text, a picture for example, in which prefixes appear by chance.
const blobRun = 48

func inBlob(s string, i int) bool {
	if s[i-1] == '=' || !base64Any[s[i-1]] || i < blobRun {
		return false
	}
	return base64Any.all(s[i-blobRun : i])
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// crcEnds reports whether the last six characters of body are the CRC-32 of those
// before it in base 62, as GitHub's and npm's tokens have it.
func crcEnds(body string) bool {
	if len(body) < 12 {
		return false
	}
	head, tail := body[:len(body)-6], body[len(body)-6:]
	sum := crc32.ChecksumIEEE([]byte(head))
	for i := 5; i >= 0; i-- {
		if tail[i] != base62[sum%62] {
			return false
		}
		sum /= 62
	}
	return true
}

const bech32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

// bech32Sound checks the checksum of an age identity.
func bech32Sound(s string) bool {
	s = strings.ToLower(s)
	at := strings.LastIndexByte(s, '1')
	if at < 1 {
		return false
	}
	sum := uint32(1)
	step := func(v uint32) {
		top := sum >> 25
		sum = (sum&0x1ffffff)<<5 ^ v
		for i, g := range [...]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				sum ^= g
			}
		}
	}
	for _, b := range []byte(s[:at]) {
		step(uint32(b >> 5))
	}
	step(0)
	for _, b := range []byte(s[:at]) {
		step(uint32(b & 31))
	}
	for _, b := range []byte(s[at+1:]) {
		v := strings.IndexByte(bech32, b)
		if v < 0 {
			return false
		}
		step(uint32(v))
	}
	return sum == 1
}

// jwtHeader reports whether s is the first part of a JSON Web Token: an object in
// base64 that names its algorithm.
func jwtHeader(s string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return false
	}
	var h struct{ Alg, Enc string }
	return json.Unmarshal(raw, &h) == nil && h.Alg != ""
}
