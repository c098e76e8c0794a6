package events

// StoredFields returns the names of the fields of every event, by its stored name.
func StoredFields() map[string][]string {
	all := map[string][]string{}
	for name, k := range kinds {
		for _, f := range k.plan {
			all[name] = append(all[name], f.name)
		}
	}
	return all
}

// ChecksumOf returns the checksum of stored fields.
func ChecksumOf(name string, f Fields) string {
	f.sort()
	return string(appendChecksum(nil, name, f))
}
