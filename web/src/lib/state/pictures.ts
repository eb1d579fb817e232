/** Makes pictures smaller before they are sent: models look at no more than this. */

const MOST = 2048; // pixels of the longer side
const HEAVY = 2 << 20; // bytes from which a photo is written again

/** smaller gives a file, or a smaller picture in its place. What can't be read stays as it is. */
export async function smaller(file: File): Promise<File> {
  if (!/^image\/(png|jpeg|webp)$/.test(file.type)) return file; // others may move, or are no pictures
  try {
    const picture = await createImageBitmap(file);
    const scale = Math.min(1, MOST / Math.max(picture.width, picture.height));
    if (scale === 1 && file.size < HEAVY) return file;
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(picture.width * scale));
    canvas.height = Math.max(1, Math.round(picture.height * scale));
    canvas.getContext("2d")!.drawImage(picture, 0, 0, canvas.width, canvas.height);
    picture.close();
    const type = file.type === "image/png" ? "image/png" : "image/jpeg";
    const data = await new Promise<Blob | null>((done) => canvas.toBlob(done, type, 0.9));
    if (!data || data.size >= file.size) return file;
    return new File([data], type === file.type ? file.name : file.name.replace(/\.\w+$/, "") + ".jpg", { type });
  } catch {
    return file;
  }
}
