package main

import "runtime/debug"

// release is set by -ldflags "-X main.release=v1.2.3" where a build has no module version of its own.
var release string

// version tells what was built: the release, or the module's version, or the commit of a checkout.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	if revision := settings["vcs.revision"]; revision != "" {
		v += " " + revision
		if settings["vcs.modified"] == "true" {
			v += " modified"
		}
	}
	return v
}
