/** copy puts a text into the clipboard. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page without a secure context has no clipboard; the old way works there.
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "hide";
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
