package picture

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"strings"
)

// chunk is how many bytes of base64 one of kitty's sequences has at most.
const chunk = 4096

func encodePNG(img *image.NRGBA) ([]byte, error) {
	var b bytes.Buffer
	// What is sent is small, and a slow terminal is slower than the encoder.
	enc := png.Encoder{CompressionLevel: png.DefaultCompression}
	if err := enc.Encode(&b, img); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// kitty is the graphics protocol of kitty: a PNG in pieces, shown where the cursor is
// (a=T) in so many cells, without moving the cursor (C=1) and without answers (q=2).
func kitty(img *image.NRGBA, cols, rows int) (string, error) {
	data, err := encodePNG(img)
	if err != nil {
		return "", err
	}
	text := base64.StdEncoding.EncodeToString(data)
	var b strings.Builder
	b.Grow(len(text) + len(text)/chunk*12 + 64)
	head := fmt.Sprintf("a=T,f=100,t=d,q=2,C=1,c=%d,r=%d,", cols, rows)
	for len(text) > 0 {
		n := min(chunk, len(text))
		more := 0
		if n < len(text) {
			more = 1
		}
		fmt.Fprintf(&b, "\x1b_G%sm=%d;%s\x1b\\", head, more, text[:n])
		head, text = "q=2,", text[n:]
	}
	return b.String(), nil
}

// iterm2 is the inline picture of iTerm2, which WezTerm and others show too.
func iterm2(img *image.NRGBA, cols, rows int) (string, error) {
	data, err := encodePNG(img)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("\x1b]1337;File=inline=1;size=%d;width=%d;height=%d;preserveAspectRatio=1;doNotMoveCursor=1:%s\x07",
		len(data), cols, rows, base64.StdEncoding.EncodeToString(data)), nil
}
