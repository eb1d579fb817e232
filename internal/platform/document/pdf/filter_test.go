package pdf

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// packLZW is LZW with codes that grow early, or not.
func packLZW(data []byte, early int) []byte {
	var out []byte
	var bits uint64
	have, width := 0, 9
	emit := func(code int) {
		bits = bits<<width | uint64(code)
		for have += width; have >= 8; have -= 8 {
			out = append(out, byte(bits>>(have-8)))
		}
	}
	table := map[string]int{}
	next := 258
	emit(256)
	word := ""
	lookup := func(s string) (int, bool) {
		if len(s) == 1 {
			return int(s[0]), true
		}
		code, ok := table[s]
		return code, ok
	}
	for _, c := range data {
		longer := word + string([]byte{c})
		if _, ok := lookup(longer); ok {
			word = longer
			continue
		}
		code, _ := lookup(word)
		emit(code)
		table[longer] = next
		next++
		if next+early > 1<<width { // the reader is one code behind
			width++
		}
		if next >= 4094 {
			emit(256)
			table, next, width = map[string]int{}, 258, 9
		}
		word = string([]byte{c})
	}
	if word != "" {
		code, _ := lookup(word)
		emit(code)
		if next++; next+early > 1<<width {
			width++
		}
	}
	emit(257)
	return append(out, byte(bits<<(8-have)))
}

func TestLZW(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		early := rapid.IntRange(0, 1).Draw(t, "early")
		part := rapid.SliceOfN(rapid.ByteRange('a', 'd'), 1, 300).Draw(t, "part")
		data := bytes.Repeat(part, rapid.IntRange(1, 60).Draw(t, "times"))
		got, err := io.ReadAll(&lzwReader{r: bufio.NewReader(bytes.NewReader(packLZW(data, early))), early: early})
		if err != nil && err != io.EOF || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes became %d, %v", len(data), len(got), err)
		}
	})
}

// Rows of every kind of difference, of pixels of every width, come back.
func TestPredictor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		colors, columns := rapid.IntRange(1, 4).Draw(t, "colors"), rapid.IntRange(1, 9).Draw(t, "columns")
		size := colors * columns
		rows := rapid.IntRange(1, 6).Draw(t, "rows")
		want := rapid.SliceOfN(rapid.Byte(), rows*size, rows*size).Draw(t, "pixels")
		png := rapid.Bool().Draw(t, "png")
		var packed []byte
		for y := range rows {
			kind := byte(1)
			if png {
				kind = byte(rapid.IntRange(0, 4).Draw(t, "kind"))
				packed = append(packed, kind)
			}
			for x := range size {
				var left, up, corner byte
				if x >= colors {
					left = want[y*size+x-colors]
				}
				if y > 0 {
					up = want[(y-1)*size+x]
					if x >= colors {
						corner = want[(y-1)*size+x-colors]
					}
				}
				packed = append(packed, want[y*size+x]-map[byte]byte{1: left, 2: up, 3: byte((int(left) + int(up)) / 2), 4: paeth(left, up, corner)}[kind])
			}
		}
		params := dict{"Predictor": 2, "Colors": colors, "Columns": columns}
		if png {
			params["Predictor"] = 15
		}
		r, err := predicted(bytes.NewReader(packed), params)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v became %v, %v", want, got, err)
		}
	})
}

// The choice that PNG's specification makes.
func TestPaeth(t *testing.T) {
	for _, tt := range [][4]byte{{0, 0, 0, 0}, {10, 20, 10, 20}, {20, 10, 10, 20}, {10, 20, 30, 10}, {200, 100, 150, 150}, {5, 5, 9, 5}} {
		if got := paeth(tt[0], tt[1], tt[2]); got != tt[3] {
			t.Errorf("%v: got %d", tt, got)
		}
	}
}

func TestFiltersRefuse(t *testing.T) {
	for _, tt := range []struct {
		filter name
		params dict
	}{
		{"Nonsense", nil},
		{"DCTDecode", nil},
		{"FlateDecode", dict{"Predictor": 12, "Columns": 1 << 40}},
		{"FlateDecode", dict{"Predictor": 12, "Columns": 1 << 19, "Colors": 32}},
		{"FlateDecode", dict{"Predictor": 2, "BitsPerComponent": 4}},
	} {
		if _, err := filtered(strings.NewReader(""), tt.filter, tt.params); err == nil {
			t.Errorf("%s %v was taken", tt.filter, tt.params)
		}
	}
}

func TestOddHexAndRuns(t *testing.T) {
	for _, tt := range []struct {
		filter   name
		in, want string
	}{
		{"AHx", "4 1z4", "A@"},
		{"AHx", "41", "A"},
		{"A85", "87cURDZ~>rest", "Hello"},
		{"A85", "z~>", "\x00\x00\x00\x00"},
		{"RL", "\x02abc\xfed\x80zz", "abcddd"},
		{"RL", "\x05ab", "ab"},
		{"RL", "\xfe", ""},
	} {
		r, err := filtered(strings.NewReader(tt.in), tt.filter, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != tt.want {
			t.Errorf("%s %q: got %q, %v", tt.filter, tt.in, got, err)
		}
	}
}

// Data of any length comes back from CBC, through reads of any size.
func TestCBC(t *testing.T) {
	key := []byte("0123456789abcdef")
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Byte(), 0, 9000).Draw(t, "data")
		pad := aes.BlockSize - len(want)%aes.BlockSize
		sealed := append(bytes.Clone(want), bytes.Repeat([]byte{byte(pad)}, pad)...)
		iv := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "iv")
		cipher.NewCBCEncrypter(block, iv).CryptBlocks(sealed, sealed)
		got, err := io.ReadAll(&cbcReader{r: bytes.NewReader(append(iv, sealed...)), key: key})
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes became %d, %v", len(want), len(got), err)
		}
	})
}
