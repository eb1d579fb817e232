package passkey

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
)

// Algorithms of COSE (RFC 9053).
const (
	algES256 = -7
	algEdDSA = -8
	algRS256 = -257
)

// Labels and values of a COSE key.
const (
	keyType   = 1
	keyAlg    = 3
	keyCurve  = -1
	keyX      = -2
	keyY      = -3
	keyN      = -1 // of RSA
	keyE      = -2
	typeOKP   = 1
	typeEC2   = 2
	typeRSA   = 3
	curveP256 = 1
	curve25   = 6
)

// public is a key that signatures are checked with.
type public struct{ key crypto.PublicKey }

// verify reports whether a signature of what was said is right.
func (p public) verify(said, signature []byte) bool {
	sum := sha256.Sum256(said)
	switch k := p.key.(type) {
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(k, sum[:], signature)
	case ed25519.PublicKey:
		return ed25519.Verify(k, said, signature)
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(k, crypto.SHA256, sum[:], signature) == nil
	}
	return false
}

// readKey reads a COSE key of one of the kinds that are asked for.
func readKey(raw []byte) (public, error) {
	if len(raw) > maxKey {
		return public{}, errors.New("it is too long")
	}
	r := cbor{raw}
	numbers, strings := map[int64]int64{}, map[int64][]byte{}
	err := fields(&r, r.int, func(key int64) (err error) {
		if len(r.rest) > 0 && r.rest[0]>>5 == majorBytes {
			strings[key], err = r.bytes(majorBytes)
		} else {
			numbers[key], err = r.int()
		}
		return err
	})
	switch {
	case err != nil:
		return public{}, err
	case len(r.rest) > 0:
		return public{}, errLeft
	}
	x, y := strings[keyX], strings[keyY]
	switch kind, alg := numbers[keyType], numbers[keyAlg]; {
	case kind == typeEC2 && alg == algES256:
		if numbers[keyCurve] != curveP256 || len(x) != 32 || len(y) != 32 {
			return public{}, errors.New("it is no point of P-256")
		}
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
		return public{key}, err
	case kind == typeOKP && alg == algEdDSA:
		if numbers[keyCurve] != curve25 || len(x) != ed25519.PublicKeySize {
			return public{}, errors.New("it is no key of Ed25519")
		}
		return public{ed25519.PublicKey(x)}, nil
	case kind == typeRSA && alg == algRS256:
		n, e := strings[keyN], new(big.Int).SetBytes(strings[keyE])
		if len(n) < 256 || len(n) > 512 || n[0] == 0 || n[len(n)-1]&1 == 0 || e.BitLen() > 31 || e.BitLen() < 2 || e.Bit(0) == 0 {
			return public{}, errors.New("it is no RSA key of 2048 to 4096 bits")
		}
		return public{&rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(e.Int64())}}, nil
	default:
		return public{}, fmt.Errorf("its kind %d with the algorithm %d wasn't asked for", kind, alg)
	}
}
