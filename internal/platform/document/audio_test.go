package document_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/platform/document"
)

func TestAudioType(t *testing.T) {
	for head, want := range map[string]string{
		"RIFF\x24\x00\x00\x00WAVEfmt ": "audio/wav", "RIFF\x24\x00\x00\x00WEBPVP8 ": "", "RIFF": "",
		"FORM\x00\x00\x00\x2eAIFFCOMM": "audio/aiff", "fLaC\x00": "audio/flac",
		"OggS\x00\x02....OpusHead": "audio/ogg", "OggS\x00\x02....\x80theora": "",
		"ID3\x04\x00": "audio/mpeg", "\xff\xfb\x90\x00": "audio/mpeg", "\xff\xfb\xf0\x00": "", "\xff\xfb": "",
		"\xff\xf1\x50\x80": "audio/aac", "\xff\xfeh\x00i\x00": "", "\xff\xd8\xff\xe0": "",
		"\x00\x00\x00\x20ftypM4A \x00": "audio/mp4", "\x00\x00\x00\x20ftypmp42....soun": "audio/mp4", "\x00\x00\x00\x20ftypisom....vide....soun": "", "\x00\x00\x00\x20ftypisom": "",
		"\x1a\x45\xdf\xa3....webm....A_OPUS": "audio/webm", "\x1a\x45\xdf\xa3....webm....V_VP8....A_OPUS": "", "\x1a\x45\xdf\xa3....matroska....A_OPUS": "",
		"": "", "text": "", "%PDF-1.4": "",
	} {
		if got := document.AudioType([]byte(head)); got != want {
			t.Errorf("%q is %q, not %q", head, got, want)
		}
	}
}
