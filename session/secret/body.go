package secret

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
)

// bodies are the texts of armors that were seen. A piece of one of them is found
// wherever it stands, in whatever way its lines were divided, cut or prefixed: of a
// text every eighth place is looked up among all the places of the bodies, so that no
// common piece of 15 characters is missed. Pieces of 16 are taken.
type bodies struct {
	bloom []uint64         // by hash, which places may be there
	grams map[uint64]int32 // eight bytes, and where they stand in text
	text  []byte           // bodies, divided by zeros
}

const (
	gram     = 8
	minPiece = 16
	// bloomWords is so much that a dozen keys in all their forms fill a tenth of it.
	bloomWords = 1 << 14
	// maxBody is how much text of keys is known, in bytes; lines of more keys are hidden
	// only where their form gives them away.
	maxBody = 512 << 10
)

// boilerplate are the beginnings that all keys of a kind share with each other, and with
// public ones: they say nothing, and are not known.
const boilerplate = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A MIICIjANBgkqhkiG9w0BAQEFAAOCAg8A ADANBgkqhkiG9w0BAQEFAASC " +
	"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAE " +
	"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg MC4CAQAwBQYDK2VwBCIEI MCowBQYDK2VwAyEA " +
	"b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAAB AAAAB3NzaC1yc2EAAAADAQAB AAAAC3NzaC1lZDI1NTE5AAAAI " +
	"AAAADAQABAAABgQ"

// add makes the text of an armor known, with its rules and headers or without. It says
// whether that is new.
func (b *bodies) add(text string) bool {
	var body []byte // of all lines: it may be divided in another way elsewhere
	for line := range strings.Lines(text) {
		if strings.Contains(line, "-----END ") || strings.Contains(line, ": ") {
			continue
		}
		if i := strings.LastIndex(line, "-----"); i >= 0 {
			line = line[i+5:]
		}
		for i := 0; i < len(line); i++ {
			if c := line[i]; c == '\\' && i+1 < len(line) && line[i+1] != '/' {
				i++ // \n of a JSON string
			} else if base64Any[c] {
				body = append(body, c)
			}
		}
	}
	return b.addRun(string(body))
}

func (b *bodies) addRun(run string) (fresh bool) {
	if len(run) < minPiece || len(b.text)+len(run) > maxBody {
		return false
	}
	if b.grams == nil {
		b.grams, b.bloom = map[uint64]int32{}, make([]uint64, bloomWords)
	}
	base := len(b.text)
	for k := 0; k+gram <= len(run); k++ {
		w := run[k : k+gram]
		if strings.Contains(boilerplate, w) || strings.Count(w, w[:1]) > 4 || strings.Count(w, w[gram-1:]) > 4 {
			continue
		}
		g := binary.LittleEndian.Uint64([]byte(w))
		if _, ok := b.grams[g]; ok {
			continue
		}
		b.grams[g] = int32(base + k)
		h := gramHash(g)
		b.bloom[h>>6] |= 1 << (h & 63)
		fresh = true
	}
	if fresh {
		b.text = append(append(b.text, run...), 0)
	}
	return fresh
}

func gramHash(g uint64) uint64 { return g * 0x9E3779B97F4A7C15 >> 44 }

// scan appends the pieces of bodies in s.
func (b *bodies) scan(s string, out []span) []span {
	if len(b.grams) == 0 {
		return out
	}
	for i := 0; i+gram <= len(s); i += gram {
		g := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		if h := gramHash(g); b.bloom[h>>6]>>(h&63)&1 == 0 {
			continue
		}
		at, ok := b.grams[g]
		if !ok {
			continue
		}
		lo, hi := b.widen(s, i, int(at))
		if hi-lo >= minPiece {
			out = append(out, span{lo: lo, hi: hi, kind: keyKind, piece: true})
			i = max(i, (hi-gram)/gram*gram)
		}
	}
	return out
}

// widen is how far s agrees with the bodies around a gram.
func (b *bodies) widen(s string, i, at int) (lo, hi int) {
	lo, hi = i, i+gram
	for p := at; lo > 0 && p > 0 && s[lo-1] == b.text[p-1]; p-- {
		lo--
	}
	for p := at + gram; hi < len(s) && b.text[p] != 0 && s[hi] == b.text[p]; p++ {
		hi++
	}
	return lo, hi
}

// holds reports whether a piece of a body stands in s.
func (b *bodies) holds(s string) bool { return len(b.scan(s, nil)) > 0 }

// learnKey makes a private key known: its lines, and as what they stand in base64.
func (v *Vault) learnKey(text string) bool {
	fresh := v.private.add(text)
	if !fresh || !strings.Contains(text, "-BEGIN ") {
		return fresh
	}
	for shift := range 3 {
		v.private.addRun(stableBase64(base64.RawStdEncoding, text, shift))
	}
	return true
}

// maxLearn is how much of a text [Vault.Learn] looks at, in bytes.
const maxLearn = 4 << 20

// Learn remembers the secrets in a text when only a part of it may be shown, such as a
// range of lines of a file: what identifies them may be outside that part. It also
// remembers which armored blocks are public. It reads the first 4 MiB of a text.
func (v *Vault) Learn(text string) {
	text = text[:min(len(text), maxLearn)]
	spans := v.spans(text)
	if v.noDetect {
		return
	}
	if len(text) <= maxPEM && slices.ContainsFunc(spans, func(sp span) bool { return sp.kind == keyKind && !sp.guess }) {
		v.mu.Lock()
		for shift := range 3 {
			if v.private.addRun(stableBase64(base64.RawStdEncoding, text, shift)) {
				v.age.Add(1)
			}
		}
		v.mu.Unlock()
	}
	for rest := text; ; {
		at := strings.Index(rest, "BEGIN ")
		if at < 0 {
			return
		}
		ruled := strings.HasSuffix(strings.TrimSuffix(rest[:at], " "), "----")
		rest = rest[at+1:]
		end := strings.Index(rest, "END ")
		if end < 0 {
			return
		}
		if label := rest[:min(end, 60)]; ruled && !strings.Contains(label, "PRIVATE") {
			v.mu.Lock()
			if v.public.add(rest[:end]) {
				v.age.Add(1)
			}
			v.mu.Unlock()
		}
		rest = rest[end:]
	}
}
