import type { PDFDocumentProxy, PDFPageProxy } from 'pdfjs-dist'
import { useEffect, useRef, useState } from 'react'
import type { ShownReceipt } from './admin-receipt-image'
import { sharpness } from './pdf-sharpness'

interface PdfPageProps extends Pick<ShownReceipt, 'scale' | 'turned'> {
  pdf: PDFDocumentProxy
  number: number
  /** Told when the page comes near what is seen. */
  onNear: (number: number) => void
}

// Until a page says its own size it is taken for an upright A4.
const a4 = { width: 210, height: 297 }

/** One page, drawn while it is near what is seen: a hundred drawn pages would not fit into memory. */
export function PdfPage({ pdf, number, scale, turned, onNear }: PdfPageProps) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [near, setNear] = useState(false)
  const [page, setPage] = useState<PDFPageProxy | null>(null)
  const [failed, setFailed] = useState(false)

  useEffect(() => {
    const element = canvas.current
    if (!element) return
    const observer = new IntersectionObserver(
      (entries) => {
        const isNear = entries.at(-1)?.isIntersecting === true
        setNear(isNear)
        if (isNear) onNear(number)
      },
      { root: element.parentElement, rootMargin: '100% 0px' },
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [number, onNear])

  useEffect(() => {
    if (!near) return
    let gone = false
    pdf.getPage(number).then(
      (found) => !gone && setPage(found),
      () => !gone && setFailed(true),
    )
    return () => {
      gone = true
    }
  }, [pdf, number, near])

  useEffect(() => {
    const element = canvas.current
    if (!element || !page || !near) return
    const natural = turnedView(page, turned)
    const enlarged = sharpness(natural, element.clientWidth, devicePixelRatio)
    const viewport = turnedView(page, turned, enlarged)
    element.width = Math.floor(viewport.width)
    element.height = Math.floor(viewport.height)
    const drawing = page.render({ canvas: element, viewport })
    drawing.promise.catch((error: unknown) => {
      if ((error as Error).name !== 'RenderingCancelledException') setFailed(true)
    })
    return () => {
      drawing.cancel()
      element.width = 0
    }
  }, [page, near, scale, turned])

  if (failed) return <p className="p-4">Page {number} cannot be shown.</p>
  const { width, height } = page ? turnedView(page, turned) : a4
  return (
    <canvas
      ref={canvas}
      role="img"
      aria-label={`Page ${number} of ${pdf.numPages}`}
      className="mx-auto block max-w-none bg-[#fff]"
      style={{ width: `${scale * 100}%`, aspectRatio: `${width} / ${height}` }}
    />
  )
}

function turnedView(page: PDFPageProxy, turned: number, scale = 1) {
  return page.getViewport({ scale, rotation: page.rotate + turned })
}
