/** What browsers can draw on: Safari's limits, the narrowest, are 16,777,216 pixels, and none has longer sides. */
const mostPixels = 2 ** 24
const longestSide = 16_384

interface Size {
  width: number
  height: number
}

/** By how much a page is enlarged so that each pixel of the screen has its own, as far as a canvas can hold it. */
export function sharpness(page: Size, shownWidth: number, pixelRatio: number): number {
  return Math.min(
    (shownWidth * pixelRatio) / page.width,
    Math.sqrt(mostPixels / (page.width * page.height)),
    longestSide / Math.max(page.width, page.height),
  )
}
