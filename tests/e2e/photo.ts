import type { Page } from '@playwright/test'

/** Written into the photo's data about itself, and so easy to find again. */
export const camera = 'Kestrel Pocket 7'

const ascii = 2
const short = 3
const long = 4
const rational = 5

interface Entry {
  tag: number
  type: number
  count: number
  value: Buffer
}

function numbers(size: 2 | 4, ...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * size)
  values.forEach((value, index) => {
    if (size === 2) bytes.writeUInt16BE(value, index * 2)
    else bytes.writeUInt32BE(value, index * 4)
  })
  return bytes
}

/** One directory of a big-endian TIFF that begins at `offset`; what does not fit into four bytes follows it. */
function directory(offset: number, entries: Entry[]): Buffer {
  let behind = offset + 2 + entries.length * 12 + 4
  const rows: Buffer[] = [numbers(2, entries.length)]
  const rest: Buffer[] = []
  for (const { tag, type, count, value } of entries) {
    const inside = value.length <= 4
    const field = inside ? Buffer.concat([value, Buffer.alloc(4 - value.length)]) : numbers(4, behind)
    rows.push(numbers(2, tag, type), numbers(4, count), field)
    if (!inside) {
      rest.push(value)
      behind += value.length
    }
  }
  return Buffer.concat([...rows, numbers(4, 0), ...rest])
}

function text(tag: number, value: string): Entry {
  return { tag, type: ascii, count: value.length + 1, value: Buffer.from(`${value}\0`, 'latin1') }
}

function degrees(tag: number, ...parts: number[]): Entry {
  return { tag, type: rational, count: 3, value: numbers(4, ...parts.flatMap((part) => [part, 1])) }
}

/** EXIF as a phone writes it: camera, turned by 90 degrees, taken at 52°31'12" N 13°24'18" E. */
function exif(): Buffer {
  const first = (location: number) =>
    directory(8, [
      text(0x010f, camera),
      { tag: 0x0112, type: short, count: 1, value: numbers(2, 6) },
      { tag: 0x8825, type: long, count: 1, value: numbers(4, location) },
    ])
  const location = 8 + first(0).length
  const gps = directory(location, [
    text(1, 'N'),
    degrees(2, 52, 31, 12),
    text(3, 'E'),
    degrees(4, 13, 24, 18),
  ])
  return Buffer.concat([Buffer.from('MM\0*\0\0\0\b', 'latin1'), first(location), gps])
}

/** The latitude as its bytes stand in the file. */
export const latitude = numbers(4, 52, 1, 31, 1, 12, 1)

/** A real JPEG, encoded by the browser, 320 wide and 200 high before it is turned, with what a phone adds. */
export async function photoWithLocation(page: Page): Promise<Buffer> {
  const plain = await page.evaluate(async () => {
    const canvas = new OffscreenCanvas(320, 200)
    const context = canvas.getContext('2d')
    if (!context) throw new Error('no canvas')
    for (let x = 0; x < 320; x++) {
      context.fillStyle = `hsl(${x} 60% 50%)`
      context.fillRect(x, 0, 1, 200)
    }
    const blob = await canvas.convertToBlob({ type: 'image/jpeg', quality: 0.9 })
    return [...new Uint8Array(await blob.arrayBuffer())]
  })
  const jpeg = Buffer.from(plain)
  const body = Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), exif()])
  const segment = Buffer.concat([Buffer.from([0xff, 0xe1]), numbers(2, body.length + 2), body])
  return Buffer.concat([jpeg.subarray(0, 2), segment, jpeg.subarray(2)])
}
