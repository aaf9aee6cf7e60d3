import { describe, expect, it } from 'vitest'
import { acceptedTypes, describeRule, formatBytes, inspectReceipt, recogniseReceipt } from './receipt-file'

const png = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]
const heic = [0, 0, 0, 24, ...new TextEncoder().encode('ftypheic')]
const pdf = [...new TextEncoder().encode('%PDF-1.7')]
const first = { maxBytes: 5 * 1024 * 1024, pdf: false }
const later = { ...first, pdf: true }

function file(bytes: number[], name = 'receipt.png'): File {
  return new File([new Uint8Array(bytes)], name)
}

describe('recogniseReceipt', () => {
  it('goes by the bytes', () => {
    expect(recogniseReceipt(new Uint8Array(png))).toBe('png')
    expect(recogniseReceipt(new Uint8Array([0xff, 0xd8, 0xff, 0xe0]))).toBe('jpeg')
    expect(recogniseReceipt(new TextEncoder().encode('RIFF0000WEBPVP8 '))).toBe('webp')
    expect(recogniseReceipt(new Uint8Array(pdf))).toBe('pdf')
    expect(recogniseReceipt(new TextEncoder().encode('<svg xmlns="x">'))).toBeNull()
  })
})

describe('inspectReceipt', () => {
  it('takes a PNG whatever it is called', async () => {
    await expect(inspectReceipt(file(png, 'holiday.txt'), first)).resolves.toBe('png')
  })

  it('names what it refuses', async () => {
    await expect(inspectReceipt(file(heic, 'IMG_1.png'), first)).rejects.toThrow(
      'This is a HEIC image. Use PNG, JPEG or WebP up to 5 MB. Your other answers are kept.',
    )
    await expect(
      inspectReceipt(file([...new TextEncoder().encode('<svg>')], 'x.svg'), first),
    ).rejects.toThrow('an SVG image')
    await expect(inspectReceipt(file([], 'x.png'), first)).rejects.toThrow('This file is empty.')
  })

  it('takes a PDF only after the first deposit', async () => {
    await expect(inspectReceipt(file(pdf), first)).rejects.toThrow(
      'For a first deposit use PNG, JPEG or WebP up to 5 MB.',
    )
    await expect(inspectReceipt(file(pdf), later)).resolves.toBe('pdf')
  })

  it('says how large a file is that is too large', async () => {
    const large = new File([new Uint8Array(png), new Uint8Array(6_000_000)], 'large.png')
    await expect(inspectReceipt(large, first)).rejects.toThrow('This file is 6.0 MB.')
  })
})

it('describes its rule', () => {
  expect(describeRule(later)).toBe('PNG, JPEG, WebP or PDF up to 5 MB')
  expect(acceptedTypes(first)).toBe('image/png,image/jpeg,image/webp')
  expect(formatBytes(412_345)).toBe('412 kB')
})
