package clipboard

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/burin-dev/burin/internal/installed"
)

// ErrNoImage says that there is no picture in the clipboard.
var ErrNoImage = errors.New("no picture in the clipboard")

// Image is a picture.
type Image struct {
	MIME string // image/png, image/jpeg, image/gif or image/webp
	Data []byte
}

// reader is a tool that writes a picture, and how it writes it.
type reader struct {
	tool
	decode func([]byte) ([]byte, error) // nil: as it is
}

const getPowerShell = "Add-Type -AssemblyName System.Windows.Forms,System.Drawing;" +
	"$i=[Windows.Forms.Clipboard]::GetImage();if($i){$m=New-Object IO.MemoryStream;" +
	"$i.Save($m,[Drawing.Imaging.ImageFormat]::Png);[Convert]::ToBase64String($m.ToArray())}"

// readers are the tools that may be there, the best first.
func (c *Clipboard) readers() (tools []reader) {
	switch {
	case c.system == "darwin":
		return []reader{
			{tool{"pngpaste", "-"}, nil},
			{tool{"osascript", "-e", "get the clipboard as «class PNGf»"}, appleData},
		}
	case c.system == "windows", c.wsl():
		return []reader{{tool{"powershell.exe", "-NoProfile", "-NonInteractive", "-STA", "-Command", getPowerShell}, fromBase64}}
	}
	for _, mime := range []string{"image/png", "image/jpeg", "image/webp", "image/gif"} {
		if c.o.Getenv("WAYLAND_DISPLAY") != "" {
			tools = append(tools, reader{tool{"wl-paste", "--no-newline", "--type", mime}, nil})
		}
		if c.o.Getenv("DISPLAY") != "" {
			tools = append(tools, reader{tool{"xclip", "-selection", "clipboard", "-t", mime, "-o"}, nil})
		}
	}
	return tools
}

// Image reads a picture from the clipboard; [ErrNoImage] is that there is none.
func (c *Clipboard) Image(ctx context.Context) (Image, error) {
	if c.remote() {
		return Image{}, errors.New("pictures cannot be pasted over SSH: copy the file to this machine and attach it with @path")
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit) // for all of them
	defer cancel()
	found := false
	for _, r := range c.readers() {
		if _, err := installed.Find(r.tool[0], c.o.Writable...); err != nil {
			continue
		}
		found = true
		data, err := c.output(ctx, r.tool)
		if ctx.Err() != nil {
			return Image{}, fmt.Errorf("read the clipboard: %w", told(ctx, r.tool, ctx.Err()))
		}
		if errors.Is(err, errTooLarge) {
			return Image{}, err
		}
		if err == nil && r.decode != nil {
			data, err = r.decode(data)
		}
		if err != nil {
			continue // so tools say that there is nothing of this kind
		}
		if len(data) > MaxImage {
			return Image{}, errTooLarge
		}
		switch mime := http.DetectContentType(data); mime {
		case "image/png", "image/jpeg", "image/gif", "image/webp":
			return Image{mime, data}, nil
		}
	}
	if !found {
		return Image{}, fmt.Errorf("no program here can read pictures from the clipboard: %s", c.readAdvice())
	}
	return Image{}, ErrNoImage
}

func (c *Clipboard) readAdvice() string {
	if c.system == "linux" && !c.wsl() {
		return c.advice()
	}
	return "attach the file with @path"
}

var errTooLarge = fmt.Errorf("the picture in the clipboard is larger than %d MB", MaxImage>>20)

// output runs a tool for what it writes. A tool that writes too much is ended.
func (c *Clipboard) output(ctx context.Context, t tool) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd, err := installed.Command(ctx, c.o.Writable, t[0], t[1:]...)
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	// Encodings double it.
	data, err := io.ReadAll(io.LimitReader(out, 2*MaxImage+1))
	if len(data) > 2*MaxImage {
		cancel()
		_ = cmd.Wait() // it was ended
		return nil, errTooLarge
	}
	return data, errors.Join(err, cmd.Wait())
}

func fromBase64(text []byte) ([]byte, error) {
	return base64.StdEncoding.DecodeString(string(bytes.TrimSpace(text)))
}

// appleData reads AppleScript's way to write bytes: «data PNGf89504E47…».
func appleData(text []byte) ([]byte, error) {
	s := strings.TrimSpace(string(text))
	s, begins := strings.CutPrefix(s, "«data PNGf")
	s, ends := strings.CutSuffix(s, "»")
	if !begins || !ends {
		return nil, ErrNoImage
	}
	return hex.DecodeString(s)
}
