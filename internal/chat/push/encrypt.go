package push

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
)

const (
	authSize   = 16   // bytes of a subscription's secret
	saltSize   = 16   // of a message
	recordSize = 4096 // that a browser takes as one
	// padded is the size of each message before it is encrypted, so that its length tells nothing.
	padded = 512
)

// encrypt encrypts a message for a browser, as RFC 8291 has it: with the key that the browser's public
// key and one of the sender's make, the secret of the subscription, and a salt. The sender's key and
// the salt are used once. size is how long the message is made before.
func encrypt(text []byte, to *ecdh.PublicKey, auth []byte, from *ecdh.PrivateKey, salt []byte, size int) ([]byte, error) {
	shared, err := from.ECDH(to)
	if err != nil {
		return nil, err
	}
	sender := from.PublicKey().Bytes()
	secret, err := hkdf.Key(sha256.New, shared, auth, "WebPush: info\x00"+string(to.Bytes())+string(sender), 32)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, secret, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, secret, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	record := append(slices.Clone(text), 2) // the last one
	if len(record) < size {
		record = append(record, make([]byte, size-len(record))...)
	}
	if len(record)+aead.Overhead() > recordSize {
		return nil, errors.New("the message is too long for one record")
	}
	body := binary.BigEndian.AppendUint32(slices.Clone(salt), recordSize)
	body = append(append(body, byte(len(sender))), sender...)
	return aead.Seal(body, nonce, record, nil), nil
}
