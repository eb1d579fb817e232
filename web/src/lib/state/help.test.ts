import { expect, test } from "vitest";
import { address, readable, slug } from "./help";

const here = "https://box.example";

test("links of pages stay in the app, others lead out", () => {
  expect(address("private.md#the-pass-phrase", "serve", here)).toBe(`${here}/help/private#the-pass-phrase`);
  expect(address("#keys", "serve", here)).toBe(`${here}/help/serve#keys`);
  expect(address("../models.md", "howto/models", here)).toBe(`${here}/help/models`);
  expect(address("undo.md", "howto/agents", here)).toBe(`${here}/help/howto/undo`);
  expect(address("../ARCHITECTURE.md", "README", here)).toBe("https://github.com/burin-dev/burin/blob/main/ARCHITECTURE.md");
  expect(address("openapi.json", "serve", here)).toBe("https://github.com/burin-dev/burin/blob/main/docs/openapi.json");
  expect(address("https://x.example/a", "serve", here)).toBe("https://x.example/a");
});

test("a page is its title, its sections and its text, with code as it is", () => {
  const text = "# The *server*\n\nSee [keys](private.md) and `[no](link.md)`.\n<!-- model\n[x](y.md)\n-->\n| | |\n|---|---|\n| ![a](a.png) | ![b](b.png) |\n\n| | |\n|---|---|\n| key | what |\n## What `it` does\n```sh\n# no title\n## no section\ncat [a](b.md)\n```\n";
  const is = readable("serve", text, here);
  expect(is.title).toBe("The *server*");
  expect(is.sections).toEqual(["What it does"]);
  expect(is.text).toBe(`\n\nSee [keys](${here}/help/private) and \`[no](link.md)\`.\n\n\n| | |\n|---|---|\n| key | what |\n## What \`it\` does\n\`\`\`sh\n# no title\n## no section\ncat [a](b.md)\n\`\`\`\n`);
  expect(slug("What `it` does: compat & more")).toBe("what-it-does-compat--more");
});
