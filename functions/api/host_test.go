package api

import "testing"

var ownHosts = map[string]bool{
	"localhost": true, "localhost:8080": true, "LOCALHOST.": true, "app.localhost:80": true,
	"host.docker.internal:8000": true, "127.0.0.1:8080": true, "[::1]:8080": true, "::1": true, "172.17.0.1:8000": true,
	"[fe80::1%25eth0]:80": true, "[::1": true,

	"": false, "evil.example": false, "localhost.evil.example": false, "notlocalhost": false,
	"127.0.0.1.nip.io:8080": false, "docker.internal": false, "x.host.docker.internal": false,
	"localhost:8080@evil.example": false, ".": false,
}

func TestIsOwnHost(t *testing.T) {
	for host, want := range ownHosts {
		if isOwnHost(host) != want {
			t.Errorf("%q: %t", host, !want)
		}
	}
}
