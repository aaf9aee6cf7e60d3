/** A PDF of these objects, numbered from 1; the first is its catalogue. */
function pdfOf(objects: string[], more = ''): Buffer {
  let text = '%PDF-1.7\n'
  const places = objects.map((object, index) => {
    const place = text.length
    text += `${index + 1} 0 obj\n${object}\nendobj\n`
    return `${String(place).padStart(10, '0')} 00000 n \n`
  })
  const table = `xref\n0 ${places.length + 1}\n0000000000 65535 f \n${places.join('')}`
  const trailer = `trailer\n<< /Size ${places.length + 1} /Root 1 0 R ${more} >>\nstartxref\n${text.length}\n%%EOF\n`
  return Buffer.from(text + table + trailer, 'latin1')
}

const helvetica = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'

function stream(content: string, more = ''): string {
  return `<< /Length ${content.length} ${more} >>\nstream\n${content}\nendstream`
}

/** Upright pages with a line each, in a font that the file does not bring along; the script runs when it is opened. */
export function receiptPdf(pages: number, script = '', more = ''): Buffer {
  const written = Array.from({ length: pages }, (_, index) => [
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents ${5 + 2 * index} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
    stream(`BT /F1 48 Tf 60 700 Td (Receipt ${index + 1}) Tj ET`),
  ])
  const kids = written.map((_, index) => `${4 + 2 * index} 0 R`).join(' ')
  return pdfOf(
    [
      `<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS (${script}) >> >>`,
      `<< /Type /Pages /Count ${pages} /Kids [${kids}] >>`,
      helvetica,
      ...written.flat(),
    ],
    more,
  )
}

/** Encrypted with an unknown password. */
export function lockedPdf(): Buffer {
  const unknown = `<${'5a'.repeat(32)}>`
  return receiptPdf(
    1,
    '',
    `/Encrypt << /Filter /Standard /V 1 /R 2 /O ${unknown} /U ${unknown} /P -4 >> /ID [<00> <00>]`,
  )
}

// A black square of 8 by 8 pixels, in hexadecimal digits.
const jpeg2000 =
  'ff4fff510029000000000008000000080000000000000000000000080000000800000000000000000001070101ff52000c00' +
  '000001000004040001ff5c00044040ff90000a0000000000160001ff93df8028115054a36fffd9'

/** What needs files apart from the reader, or its slow decoders: a Chinese encoding, dingbats, a fax and a JPEG 2000. */
export function faxedPdf(): Buffer {
  const black = String.fromCharCode(0xff, 0x00, 0x10, 0x01)
  return pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Count 1 /Kids [4 0 R] >>',
    '<< /Type /Font /Subtype /Type1 /BaseFont /ZapfDingbats >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R /Resources << /Font << /F1 3 0 R /F2 6 0 R >> /XObject << /I1 9 0 R /I2 10 0 R >> >> >>',
    stream(
      'BT /F1 48 Tf 60 700 Td (4) Tj /F2 48 Tf <4F60> Tj ET q 100 0 0 100 60 500 cm /I1 Do Q q 100 0 0 100 260 500 cm /I2 Do Q',
    ),
    '<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H /DescendantFonts [7 0 R] >>',
    '<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /FontDescriptor 8 0 R /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> >>',
    '<< /Type /FontDescriptor /FontName /STSong-Light /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>',
    stream(
      black,
      '/Type /XObject /Subtype /Image /Width 8 /Height 8 /BitsPerComponent 1 /ColorSpace /DeviceGray /Filter /CCITTFaxDecode /DecodeParms << /K -1 /Columns 8 /Rows 8 /BlackIs1 true >>',
    ),
    stream(
      `${jpeg2000}>`,
      '/Type /XObject /Subtype /Image /Width 8 /Height 8 /BitsPerComponent 8 /ColorSpace /DeviceGray /Filter [/ASCIIHexDecode /JPXDecode]',
    ),
  ])
}
