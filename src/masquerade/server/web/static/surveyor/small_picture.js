// Pictures that people choose, made small: drawn anew, so that what a camera wrote into them is gone.

import { element } from "../app/dom.js";

/**
 * Return a picture as the address of a small one; null where it cannot be read.
 *
 * @param {File} file
 * @param {{width: number, height: number, most: number, type?: string}} limits `most` characters of
 *   the address
 */
export async function smallPicture(file, { width, height, most, type = "image/png" }) {
  let picture = null;
  try {
    picture = await createImageBitmap(file);
  } catch {
    return null;
  }
  for (let part = Math.min(1, width / picture.width, height / picture.height); part > 0.01; part *= 0.8) {
    const canvas = element("canvas", {
      width: Math.max(1, Math.round(part * picture.width)),
      height: Math.max(1, Math.round(part * picture.height)),
    });
    const brush = canvas.getContext("2d");
    // A picture that is clear in places would be black there in a JPEG.
    if (type === "image/jpeg") {
      brush.fillStyle = "#ffffff";
      brush.fillRect(0, 0, canvas.width, canvas.height);
    }
    brush.drawImage(picture, 0, 0, canvas.width, canvas.height);
    const address = canvas.toDataURL(type, 0.8);
    if (address.length <= most) return address;
  }
  return null;
}
