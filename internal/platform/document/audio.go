package document

import "bytes"

// AudioType tells the MIME type of a recording by how it begins; "" if that is none. Containers that have
// pictures, too, are none. It wants some thousand bytes: what is in a container stands behind its name.
func AudioType(head []byte) string {
	has := func(s string) bool { return bytes.Contains(head, []byte(s)) }
	at := func(i int, s string) bool { return len(head) >= i+len(s) && string(head[i:i+len(s)]) == s }
	switch {
	case at(0, "RIFF") && at(8, "WAVE"):
		return "audio/wav"
	case at(0, "FORM") && (at(8, "AIFF") || at(8, "AIFC")):
		return "audio/aiff"
	case at(0, "fLaC"):
		return "audio/flac"
	case at(0, "OggS"):
		if has("theora") {
			return ""
		}
		return "audio/ogg"
	case at(0, "ID3"):
		return "audio/mpeg"
	case at(4, "ftyp"):
		if at(8, "M4A ") || at(8, "M4B ") || has("soun") && !has("vide") {
			return "audio/mp4"
		}
	case at(0, "\x1a\x45\xdf\xa3"): // Matroska; WebM is a kind of it
		if has("webm") && (has("A_OPUS") || has("A_VORBIS")) && !has("V_") {
			return "audio/webm"
		}
	case len(head) >= 4 && head[0] == 0xFF && head[1]&0xF6 == 0xF0 && head[2]&0x3C>>2 < 13: // ADTS
		return "audio/aac"
	case len(head) >= 4 && head[0] == 0xFF && head[1]&0xE6 == 0xE2 && head[2]>>4 != 0 && head[2]>>4 != 15 && head[2]&0x0C != 0x0C: // a frame of layer III
		return "audio/mpeg"
	}
	return ""
}
