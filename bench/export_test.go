package bench

// Own is a framing that only this package's tests know.
var Own = own{}
