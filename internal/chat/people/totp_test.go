package people

import (
	"testing"
	"time"
)

// The examples of RFC 6238, appendix B, with six digits.
func TestTOTP(t *testing.T) {
	key := []byte("12345678901234567890")
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		if got := totpCode(key, at/totpPeriod); got != want {
			t.Errorf("at %d: %s, not %s", at, got, want)
		}
		now := time.Unix(at, 0)
		if step := totpStep(key, want, now.Add(30*time.Second), 0); step != at/totpPeriod {
			t.Errorf("at %d: step %d", at, step)
		}
		if totpStep(key, want, now.Add(time.Minute), 0) != 0 || totpStep(key, want, now, at/totpPeriod) != 0 || totpStep(key, "", now, 0) != 0 {
			t.Errorf("at %d: it is good too long, or again", at)
		}
	}
}

func TestDeviceNames(t *testing.T) {
	for agent, want := range map[string]string{
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1": "Safari on iPhone",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0":           "Edge on Windows",
		"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36":                         "Chrome on Android",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15":                   "Safari on macOS",
		"curl/8.5.0": "curl/8.5.0", "": "a program", "a\x1b[31m\u202e\x00b c": "a", "\xff": "\uFFFD",
	} {
		if got := deviceName(agent); got != want {
			t.Errorf("%q is %q, not %q", agent, got, want)
		}
	}
}

func TestWaitsGrow(t *testing.T) {
	last := time.Duration(0)
	for n := range 10_000 {
		wait := waitAfter(n, freePerson)
		if wait < last || n <= freePerson && wait != 0 || wait > maxWait {
			t.Fatalf("after %d failures %v, before %v", n, wait, last)
		}
		last = wait
	}
	if last != maxWait {
		t.Errorf("at last %v", last)
	}
}

func FuzzHash(f *testing.F) {
	f.Add(format([]byte("salt"), make([]byte, 32), 64, 1, 1))
	f.Add("$argon2id$v=19$m=64,t=1,p=1$$")
	f.Add("$argon2id$v=19$m=99999999,t=1,p=1$YQ$YQ")
	h := newHashes(argonMemory)
	f.Fuzz(func(t *testing.T, hash string) {
		if len(hash) > 200 {
			return
		}
		if ok, _ := h.verify(hash, "x"); ok {
			t.Errorf("%q", hash)
		}
	})
}
