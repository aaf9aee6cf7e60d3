/** What a receipt may be, found in its first bytes and never in its name. */
export type ReceiptKind = 'png' | 'jpeg' | 'webp' | 'pdf'

export interface ReceiptRule {
  maxBytes: number
  /** A first deposit takes images only. */
  pdf: boolean
}

const types: Record<ReceiptKind, string> = {
  png: 'image/png',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  pdf: 'application/pdf',
}

const extensions: Record<ReceiptKind, string> = { png: 'png', jpeg: 'jpg', webp: 'webp', pdf: 'pdf' }

/** For the file chooser. */
export function acceptedTypes(rule: ReceiptRule): string {
  return Object.entries(types)
    .filter(([kind]) => rule.pdf || kind !== 'pdf')
    .map(([, type]) => type)
    .join(',')
}

export function describeRule(rule: ReceiptRule): string {
  const megabytes = Math.floor(rule.maxBytes / 1024 / 1024)
  return `${rule.pdf ? 'PNG, JPEG, WebP or PDF' : 'PNG, JPEG or WebP'} up to ${megabytes} MB`
}

function ascii(bytes: Uint8Array, from: number, to: number): string {
  return String.fromCharCode(...bytes.slice(from, to))
}

/** The kind by magic bytes; null for everything a receipt may not be. */
export function recogniseReceipt(head: Uint8Array): ReceiptKind | null {
  if (ascii(head, 0, 8) === '\x89PNG\r\n\x1a\n') return 'png'
  if (head[0] === 0xff && head[1] === 0xd8 && head[2] === 0xff) return 'jpeg'
  if (ascii(head, 0, 4) === 'RIFF' && ascii(head, 8, 12) === 'WEBP') return 'webp'
  if (ascii(head, 0, 5) === '%PDF-') return 'pdf'
  return null
}

/** What the person holds instead, for the sentence that refuses it. */
function nameOther(head: Uint8Array, name: string): string {
  if (ascii(head, 4, 8) === 'ftyp' && /^(heic|heix|hevc|mif1|msf1)/.test(ascii(head, 8, 12)))
    return 'a HEIC image'
  if (ascii(head, 4, 8) === 'ftyp' && ascii(head, 8, 12) === 'avif') return 'an AVIF image'
  if (ascii(head, 0, 3) === 'GIF') return 'a GIF image'
  if (/\.svg$/i.test(name)) return 'an SVG image'
  return 'not an image we can read'
}

/** Reads and judges a file before anything is sent. Throws an Error whose message is for the person. */
export async function inspectReceipt(file: File, rule: ReceiptRule): Promise<ReceiptKind> {
  const allowed = describeRule(rule)
  if (file.size === 0) throw new Error('This file is empty. Choose another one. Your other answers are kept.')
  const head = new Uint8Array(await file.slice(0, 16).arrayBuffer())
  const kind = recogniseReceipt(head)
  if (kind === 'pdf' && !rule.pdf) {
    throw new Error(`This is a PDF. For a first deposit use ${allowed}. Your other answers are kept.`)
  }
  if (kind === null) {
    throw new Error(`This is ${nameOther(head, file.name)}. Use ${allowed}. Your other answers are kept.`)
  }
  if (file.size > rule.maxBytes) {
    throw new Error(`This file is ${formatBytes(file.size)}. Use ${allowed}. Your other answers are kept.`)
  }
  return kind
}

export interface PreparedReceipt {
  blob: Blob
  contentType: string
  extension: string
}

const longestEdge = 4096

/**
 * What is sent: a PDF as it is, an image drawn anew. Drawing it drops where and with what it was taken
 * (EXIF) and anything hidden behind the picture. Throws an Error for the person when it cannot be drawn.
 */
export async function prepareReceipt(
  file: File,
  kind: ReceiptKind,
  rule: ReceiptRule,
): Promise<PreparedReceipt> {
  if (kind === 'pdf') return { blob: file, contentType: types.pdf, extension: extensions.pdf }
  let picture: ImageBitmap
  try {
    picture = await createImageBitmap(file, { imageOrientation: 'from-image' })
  } catch {
    throw new Error(`This image is damaged. Use ${describeRule(rule)}. Your other answers are kept.`)
  }
  const canvas = draw(picture)
  picture.close()
  const wanted = await encode(canvas, types[kind], 0.92)
  // A photo saved as PNG grows beyond the limit when drawn anew: then JPEG, which keeps it readable.
  const blob = wanted && wanted.size <= rule.maxBytes ? wanted : await encode(canvas, types.jpeg, 0.88)
  if (!blob || blob.size > rule.maxBytes) {
    throw new Error(`This image is too large. Use ${describeRule(rule)}. Your other answers are kept.`)
  }
  // Not every browser writes WebP; what it wrote instead is what counts.
  const written =
    (Object.keys(types) as ReceiptKind[]).find((candidate) => types[candidate] === blob.type) ?? 'png'
  return { blob, contentType: types[written], extension: extensions[written] }
}

function draw(picture: ImageBitmap): HTMLCanvasElement {
  const scale = Math.min(1, longestEdge / Math.max(picture.width, picture.height))
  const canvas = document.createElement('canvas')
  canvas.width = Math.max(1, Math.round(picture.width * scale))
  canvas.height = Math.max(1, Math.round(picture.height * scale))
  canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height)
  return canvas
}

function encode(canvas: HTMLCanvasElement, type: string, quality: number): Promise<Blob | null> {
  return new Promise((resolve) => canvas.toBlob(resolve, type, quality))
}

/** "412 kB", "1.4 MB". */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} kB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
