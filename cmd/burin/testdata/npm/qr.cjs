// Reads a QR code whose modules come as JSON on standard input, true is dark, and prints its text.
const path = require("node:path");
const jsqr = require(path.join(process.env.BURIN_NPM, "node_modules", "jsqr"));

const code = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const scale = 4;
const width = code[0].length * scale, height = code.length * scale;
const pixels = new Uint8ClampedArray(width * height * 4);
for (let y = 0; y < height; y++) {
  for (let x = 0; x < width; x++) {
    const shade = code[Math.floor(y / scale)][Math.floor(x / scale)] ? 0 : 255;
    pixels.set([shade, shade, shade, 255], (y * width + x) * 4);
  }
}
const found = jsqr(pixels, width, height, { inversionAttempts: "dontInvert" });
if (!found) {
  console.error("no code");
  process.exit(1);
}
console.log(found.data);
