package drive

// Starts returns how often the server was started.
func (d *Driver) Starts() int { return d.starts }
