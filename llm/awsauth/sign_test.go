package awsauth_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/burin-dev/burin/llm/awsauth"
)

// The key, time and signatures of the test suite that AWS publishes for
// Signature Version 4.
const (
	suiteKey    = "AKIDEXAMPLE"
	suiteSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	suiteToken  = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
)

var suiteTime = time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)

func TestPublishedSignatures(t *testing.T) {
	for _, tt := range []struct {
		name, method, path, token, want string
	}{
		{"get-vanilla", "GET", "/", "", "SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"post-vanilla", "POST", "/", "", "SignedHeaders=host;x-amz-date, Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		{"get-vanilla-query-order-key-case", "GET", "/?Param2=value2&Param1=value1", "", "SignedHeaders=host;x-amz-date, Signature=b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{"post-sts-header-before", "POST", "/", suiteToken, "SignedHeaders=host;x-amz-date;x-amz-security-token, Signature=85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at(t, suiteTime, func(t *testing.T) {
				auth := awsauth.New(awsauth.Options{Region: "us-east-1", Getenv: env(
					"AWS_ACCESS_KEY_ID", suiteKey, "AWS_SECRET_ACCESS_KEY", suiteSecret, "AWS_SESSION_TOKEN", tt.token)})
				req := request(t, tt.method, "https://example.amazonaws.com"+tt.path)
				if err := auth.Authorize(t.Context(), req, nil, "service"); err != nil {
					t.Fatal(err)
				}
				want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, " + tt.want
				if got := req.Header.Get("Authorization"); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			})
		})
	}
}

// TestModelPath signs what the suite lacks, a body and an id whose ':' and '/'
// are escaped in the path, and computes the signature by hand.
func TestModelPath(t *testing.T) {
	at(t, suiteTime, func(t *testing.T) {
		auth := awsauth.New(awsauth.Options{Getenv: env("AWS_REGION", "eu-west-1", "AWS_ACCESS_KEY_ID", suiteKey, "AWS_SECRET_ACCESS_KEY", suiteSecret)})
		body := `{"messages":[]}`
		req, err := http.NewRequest("POST", "https://bedrock-runtime.us-west-2.amazonaws.com/model/arn%3Aaws%3Abedrock%2Fx-v2%3A0/converse-stream", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("User-Agent", "burin") // proxies change it, so it is not signed
		if err := auth.Authorize(t.Context(), req, []byte(body), "bedrock"); err != nil {
			t.Fatal(err)
		}
		canonical := strings.Join([]string{
			"POST",
			"/model/arn%253Aaws%253Abedrock%252Fx-v2%253A0/converse-stream", // escaped once more
			"",
			"content-length:15",
			"content-type:application/json",
			"host:bedrock-runtime.us-west-2.amazonaws.com",
			"x-amz-date:20150830T123600Z",
			"",
			"content-length;content-type;host;x-amz-date",
			hash(body),
		}, "\n")
		scope := "20150830/us-west-2/bedrock/aws4_request" // the host's region, not the environment's
		toSign := "AWS4-HMAC-SHA256\n20150830T123600Z\n" + scope + "\n" + hash(canonical)
		key := []byte("AWS4" + suiteSecret)
		for _, part := range append(strings.Split(scope, "/"), toSign) {
			key = mac(key, part)
		}
		if got, want := req.Header.Get("Authorization"), hex.EncodeToString(key); !strings.HasSuffix(got, "Signature="+want) {
			t.Errorf("got %s, want signature %s", got, want)
		}
	})
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, s string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(s))
	return h.Sum(nil)
}

// at runs f at a moment of a simulated clock, which starts in 2000.
func at(t *testing.T, moment time.Time, f func(*testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		<-time.After(time.Until(moment))
		f(t)
	})
}

func request(t testing.TB, method, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// env is an environment with the given variables and no others.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		if i := slices.Index(pairs, name); i >= 0 && i%2 == 0 {
			return pairs[i+1]
		}
		return ""
	}
}
