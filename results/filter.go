package results

// filter is those of all that are kept.
func filter[T any](all []T, keep func(T) bool) []T {
	var out []T
	for _, v := range all {
		if keep(v) {
			out = append(out, v)
		}
	}
	return out
}
