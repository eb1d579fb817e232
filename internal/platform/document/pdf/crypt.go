package pdf

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/rc4"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"io"
	"math/big"
)

// errLocked is a file that wants a password.
var errLocked = errors.New("the PDF is encrypted and wants a password")

// method is how strings or streams are encrypted.
type method uint8

const (
	plain method = iota
	rc4Method
	aesMethod // with a key of each object's own
	aes256Method
)

// crypt decrypts a file that opens without a password: most encrypted ones only
// forbid printing or copying. ISO 32000-2, 7.6.
type crypt struct {
	key              []byte
	strings, streams method
}

var padding = []byte("\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08" +
	"\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A")

// newCrypt makes the key of the empty password. Enc is the file's dictionary of
// encryption, id its first identifier.
func newCrypt(enc dict, id []byte) (*crypt, error) {
	if n, ok := enc["Filter"].(name); ok && n != "Standard" {
		return nil, errors.New("the PDF is encrypted in a way of its own: " + string(n))
	}
	version, revision := toInt(enc["V"]), toInt(enc["R"])
	c := &crypt{strings: rc4Method, streams: rc4Method}
	bits := toInt(enc["Length"])
	if bits < 40 || bits > 128 || bits%8 != 0 {
		bits = 40
	}
	switch version {
	case 1:
		bits = 40
	case 2, 3:
	case 4, 5:
		bits = 128
		c.strings, c.streams = cryptFilter(enc, "StrF"), cryptFilter(enc, "StmF")
	default:
		return nil, errors.New("the PDF is encrypted in an unknown way")
	}
	if version == 5 || revision >= 5 {
		return c, c.unlock256(enc, revision)
	}
	owner, user := []byte(str(enc["O"])), []byte(str(enc["U"]))
	if len(owner) < 32 || len(user) < 16 {
		return nil, errors.New("pdf: broken dictionary of encryption")
	}
	h := md5.New()
	h.Write(padding)
	h.Write(owner[:32])
	_ = binary.Write(h, binary.LittleEndian, uint32(toInt(enc["P"])))
	h.Write(id)
	if meta, ok := enc["EncryptMetadata"].(bool); ok && !meta && revision >= 4 {
		h.Write([]byte{0xff, 0xff, 0xff, 0xff})
	}
	c.key = h.Sum(nil)[:bits/8]
	if revision >= 3 {
		for range 50 {
			sum := md5.Sum(c.key)
			copy(c.key, sum[:])
		}
	}
	if !bytes.HasPrefix(user, c.userCheck(id, revision)) {
		return nil, errLocked
	}
	return c, nil
}

func str(o object) string {
	s, _ := o.(text)
	return string(s)
}

func cryptFilter(enc dict, which name) method {
	used, _ := enc[which].(name)
	filters, _ := enc["CF"].(dict)
	filter, _ := filters[used].(dict)
	switch filter["CFM"] {
	case name("V2"):
		return rc4Method
	case name("AESV2"):
		return aesMethod
	case name("AESV3"):
		return aes256Method
	}
	return plain
}

// userCheck is what the file's U must begin with if the key is right.
func (c *crypt) userCheck(id []byte, revision int) []byte {
	if revision < 3 {
		return rc4Apply(c.key, padding)
	}
	h := md5.New()
	h.Write(padding)
	h.Write(id)
	sum := h.Sum(nil)
	key := make([]byte, len(c.key))
	for round := range 20 {
		for i := range key {
			key[i] = c.key[i] ^ byte(round)
		}
		sum = rc4Apply(key, sum)
	}
	return sum
}

func rc4Apply(key, data []byte) []byte {
	z, err := rc4.NewCipher(key)
	if err != nil {
		return data
	}
	out := make([]byte, len(data))
	z.XORKeyStream(out, data)
	return out
}

// unlock256 finds the key of files with AES of 256 bits.
func (c *crypt) unlock256(enc dict, revision int) error {
	user, wrapped := []byte(str(enc["U"])), []byte(str(enc["UE"]))
	if len(user) < 48 || len(wrapped) < 32 {
		return errors.New("pdf: broken dictionary of encryption")
	}
	hash := func(salt []byte) []byte {
		if revision < 6 {
			sum := sha256.Sum256(salt)
			return sum[:]
		}
		return hardHash(salt)
	}
	if !bytes.Equal(hash(user[32:40]), user[:32]) {
		return errLocked
	}
	block, err := aes.NewCipher(hash(user[40:48]))
	if err != nil {
		return err
	}
	c.key = make([]byte, 32)
	cipher.NewCBCDecrypter(block, make([]byte, aes.BlockSize)).CryptBlocks(c.key, wrapped[:32])
	return nil
}

// hardHash is algorithm 2.B of ISO 32000-2 for the empty password.
func hardHash(salt []byte) []byte {
	sum := sha256.Sum256(salt)
	k := sum[:]
	for round := 0; ; round++ {
		e := bytes.Repeat(k, 64)
		block, err := aes.NewCipher(k[:16])
		if err != nil {
			return nil
		}
		cipher.NewCBCEncrypter(block, k[16:32]).CryptBlocks(e, e)
		switch new(big.Int).Mod(new(big.Int).SetBytes(e[:16]), big.NewInt(3)).Int64() {
		case 0:
			s := sha256.Sum256(e)
			k = s[:]
		case 1:
			s := sha512.Sum384(e)
			k = s[:]
		case 2:
			s := sha512.Sum512(e)
			k = s[:]
		}
		if round >= 63 && int(e[len(e)-1]) <= round-31 {
			return k[:32]
		}
	}
}

// objectKey is the key of what belongs to an object.
func (c *crypt) objectKey(own ref, m method) []byte {
	if m == aes256Method {
		return c.key
	}
	h := md5.New()
	h.Write(c.key)
	h.Write([]byte{byte(own.num), byte(own.num >> 8), byte(own.num >> 16), byte(own.gen), byte(own.gen >> 8)})
	if m == aesMethod {
		h.Write([]byte("sAlT"))
	}
	return h.Sum(nil)[:min(len(c.key)+5, 16)]
}

// reader decrypts the data of a stream.
func (c *crypt) reader(own ref, r io.Reader) io.Reader {
	switch key := c.objectKey(own, c.streams); c.streams {
	case rc4Method:
		z, err := rc4.NewCipher(key)
		if err != nil {
			return r
		}
		return cipher.StreamReader{S: z, R: r}
	case aesMethod, aes256Method:
		return &cbcReader{r: r, key: key}
	}
	return r
}

// decrypt decrypts the strings in o, in place where it can.
func (c *crypt) decrypt(own ref, o object) object {
	switch o := o.(type) {
	case text:
		return c.text(own, o)
	case array:
		for i := range o {
			o[i] = c.decrypt(own, o[i])
		}
	case dict:
		for k := range o {
			o[k] = c.decrypt(own, o[k])
		}
	case *stream:
		c.decrypt(own, o.dict)
	}
	return o
}

func (c *crypt) text(own ref, s text) text {
	switch key := c.objectKey(own, c.strings); c.strings {
	case rc4Method:
		return text(rc4Apply(key, []byte(s)))
	case aesMethod, aes256Method:
		out, _ := io.ReadAll(&cbcReader{r: bytes.NewReader([]byte(s)), key: key})
		return text(out)
	}
	return s
}

// cbcReader decrypts AES in CBC mode: the first block is the start value, the last
// one is padded. What does not fill a block is left out.
type cbcReader struct {
	r    io.Reader
	key  []byte
	mode cipher.BlockMode
	hold []byte // the last whole block, which may be padding
	out  []byte
	done bool
}

func (z *cbcReader) Read(p []byte) (int, error) {
	for len(z.out) == 0 {
		if z.done {
			return 0, io.EOF
		}
		if err := z.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, z.out)
	z.out = z.out[n:]
	return n, nil
}

func (z *cbcReader) fill() error {
	if z.mode == nil {
		iv := make([]byte, aes.BlockSize)
		if _, err := io.ReadFull(z.r, iv); err != nil {
			z.done = true
			return nil
		}
		block, err := aes.NewCipher(z.key)
		if err != nil {
			return err
		}
		z.mode = cipher.NewCBCDecrypter(block, iv)
	}
	buf := make([]byte, 4096)
	n, err := io.ReadFull(z.r, buf)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	buf = buf[:n-n%aes.BlockSize]
	z.mode.CryptBlocks(buf, buf)
	z.out = append(z.hold, buf...)
	z.hold = nil
	if err != nil {
		z.done = true
		if last := len(z.out); last > 0 {
			if pad := int(z.out[last-1]); pad >= 1 && pad <= aes.BlockSize && pad <= last {
				z.out = z.out[:last-pad]
			}
		}
		return nil
	}
	z.hold = append(z.hold, z.out[len(z.out)-aes.BlockSize:]...)
	z.out = z.out[:len(z.out)-aes.BlockSize]
	return nil
}
