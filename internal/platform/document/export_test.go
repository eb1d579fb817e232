package document

import "image"

// ReducePNG reduces a PNG in bands.
func ReducePNG(data []byte, edge int) (*image.RGBA, error) { return reducePNG(data, edge) }

// Average reduces a decoded picture.
func Average(src image.Image, factor int) *image.RGBA { return average(src, factor) }
