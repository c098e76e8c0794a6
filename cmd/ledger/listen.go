package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
)

// loopback is the default of --listen: only this machine can call.
var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// hostName is a name of DNS, without a port.
var hostName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)

// listenFlags adds the flags that say on which address a server without authentication listens, and by which names it
// may be called besides those of this machine. Without the names, a web page could reach it by DNS rebinding.
func listenFlags(f *pflag.FlagSet, address *netip.Addr, hosts *[]string) {
	*address = loopback
	f.Var(checked[netip.Addr]{address, "address", func(text string) (netip.Addr, error) {
		parsed, err := netip.ParseAddr(text)
		if err != nil {
			err = errors.New("must be an IP address, such as 0.0.0.0 for all interfaces; the port is --port")
		}
		return parsed, err
	}}, "listen", "IP address to listen on, beyond loopback only with --host")
	f.Var(hostsFlag{hosts}, "host",
		"name by which callers may call besides localhost and IP addresses; give it again for more")
}

// hostsFlag is a flag that can be given several times.
type hostsFlag struct{ target *[]string }

// String, Type and Set implement pflag.Value.
func (h hostsFlag) String() string { return strings.Join(*h.target, ",") }
func (h hostsFlag) Type() string   { return "name" }
func (h hostsFlag) Set(text string) error {
	name := strings.ToLower(text)
	if !hostName.MatchString(name) {
		return fmt.Errorf("must be a name of DNS without a port, such as ledger or ledger.example.com")
	}
	*h.target = append(*h.target, name)
	return nil
}

// ownAddress returns the address by which this machine calls a server: that of its loopback if it listens on all.
func ownAddress(l net.Listener) string {
	listens, ok := l.Addr().(*net.TCPAddr)
	if !ok || !listens.IP.IsUnspecified() {
		return l.Addr().String()
	}
	return netip.AddrPortFrom(loopback, listens.AddrPort().Port()).String()
}
