package people_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"
)

// oldKey is what argon2id with less memory makes of "an older password".
var oldKey = base64.RawStdEncoding.EncodeToString(argon2.IDKey([]byte("an older password"), []byte("somesalt"), 1, 64, 1, 32))

// codeOf is the code that an app shows, computed another way than the program does.
func codeOf(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	key, err := base32.StdEncoding.DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], uint64(at.Unix()/30))
	mac := hmac.New(sha1.New, key)
	mac.Write(counter[:])
	sum := mac.Sum(nil)
	o := sum[19] & 15
	n := (int(sum[o]&0x7f)<<24 | int(sum[o+1])<<16 | int(sum[o+2])<<8 | int(sum[o+3])) % 1000000
	return fmt.Sprintf("%06d", n)
}
