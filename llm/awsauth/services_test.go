package awsauth

import "testing"

// Amazon's own hosts, where nothing else is set.
func TestEndpoint(t *testing.T) {
	fips := section{"use_fips_endpoint": "true"}
	for _, tt := range []struct {
		p          section
		host       string
		region     string
		want       string
		ignoreOwns string
	}{
		{nil, "sts", "eu-west-1", "https://sts.eu-west-1.amazonaws.com", ""},
		{nil, "portal.sso", "cn-north-1", "https://portal.sso.cn-north-1.amazonaws.com.cn", ""},
		{nil, "oidc", "eusc-de-east-1", "https://oidc.eusc-de-east-1.amazonaws.eu", ""},
		{nil, "sts", "us-isof-south-1", "https://sts.us-isof-south-1.csp.hci.ic.gov", ""},
		{fips, "sts", "us-east-2", "https://sts-fips.us-east-2.amazonaws.com", ""},
		{fips, "sts", "us-gov-west-1", "https://sts.us-gov-west-1.amazonaws.com", ""},
		{section{"endpoint_url": "http://localhost:1/"}, "sts", "eu-west-1", "http://localhost:1", ""},
		{section{"endpoint_url": "http://localhost:1/"}, "sts", "eu-west-1", "https://sts.eu-west-1.amazonaws.com", "true"},
	} {
		l := &lookUp{getenv: func(name string) string {
			if name == "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS" {
				return tt.ignoreOwns
			}
			return ""
		}}
		if got := l.endpoint(tt.p, "sts", tt.host, tt.region); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}
