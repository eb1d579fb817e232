package connect

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/gcpauth"
)

// env reads variables of the environment by burin's name or by those of its
// forerunners.
type env struct {
	lookup func(string) (string, bool)
}

func (e env) get(name string) string {
	v, _ := e.lookup(name)
	return v
}

// own is BURIN_name, or PI_name or OMP_name where that is not set, and which of
// them it was.
func (e env) own(name string) (value, variable string) {
	for _, prefix := range []string{"BURIN_", "PI_", "OMP_"} {
		if v := strings.TrimSpace(e.get(prefix + name)); v != "" {
			return v, prefix + name
		}
	}
	return "", ""
}

// on says whether a flag variable of ours is on.
func (e env) on(name string) bool {
	v, _ := e.own(name)
	return isOn(v)
}

func isOn(v string) bool {
	switch v {
	case "1", "Y", "y", "true", "TRUE", "yes", "YES", "on", "ON":
		return true
	}
	return false
}

// timeout is a number of milliseconds of the environment, or d where it is not
// set. 0 in the environment is no limit, which is negative to an endpoint.
func (e env) timeout(d time.Duration, name string) (time.Duration, error) {
	v, variable := e.own(name)
	if v == "" {
		return d, nil
	}
	ms, err := strconv.ParseInt(v, 10, 32)
	switch {
	case err != nil || ms < 0:
		return 0, fmt.Errorf("%s: %q is no number of milliseconds (0 = no limit)", variable, v)
	case ms == 0:
		return -1, nil
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// cacheRetention reads CACHE_RETENTION.
func (e env) cacheRetention() (llm.CacheRetention, error) {
	v, variable := e.own("CACHE_RETENTION")
	switch strings.ToLower(v) {
	case "", "short":
		return llm.CacheShort, nil
	case "long":
		return llm.CacheLong, nil
	case "off", "none":
		return llm.CacheOff, nil
	}
	return llm.CacheShort, fmt.Errorf("%s: unknown value %q (want short, long or off)", variable, v)
}

// ambient says whether the tools of a cloud would find a credential for a
// provider that has no key of ours. Nothing is read but variables and, for
// Vertex, the file that gcloud keeps.
//
// Decision: ~/.aws alone does not count. Many have it for other things, and it
// would make Bedrock the choice of people who never asked for it.
func (e env) ambient(provider string) bool {
	switch provider {
	case "amazon-bedrock":
		if e.get("AWS_ACCESS_KEY_ID") != "" && e.get("AWS_SECRET_ACCESS_KEY") != "" || e.skipsAWS() {
			return true
		}
		for _, name := range []string{"AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
			if e.get(name) != "" {
				return true
			}
		}
	case "google-vertex":
		auth := gcpauth.New(e.get)
		return auth.Location() != "" && exists(e.googleCredentials()) && auth.Project() != ""
	}
	return false
}

// skipsAWS says whether a gateway does what concerns credentials; see
// [awsauth.Auth.Authorize].
func (e env) skipsAWS() bool { return e.get("AWS_BEDROCK_SKIP_AUTH") == "1" }

// googleCredentials is the file of application default credentials that
// [gcpauth] would read.
func (e env) googleCredentials() string {
	const file = "application_default_credentials.json"
	switch path, dir := e.get("GOOGLE_APPLICATION_CREDENTIALS"), e.get("CLOUDSDK_CONFIG"); {
	case path != "":
		return path
	case dir != "":
		return filepath.Join(dir, file)
	case runtime.GOOS == "windows":
		return filepath.Join(e.get("APPDATA"), "gcloud", file)
	}
	return filepath.Join(e.get("HOME"), ".config", "gcloud", file)
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
