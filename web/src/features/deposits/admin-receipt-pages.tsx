import {
  getDocument,
  GlobalWorkerOptions,
  version,
  type PDFDocumentProxy,
} from 'pdfjs-dist/legacy/build/pdf.mjs'
import workerUrl from 'pdfjs-dist/legacy/build/pdf.worker.min.mjs?url'
import { useCallback, useEffect, useState } from 'react'
import { Notice } from '@/components/notice'
import { Skeleton } from '@/components/ui/skeleton'
import type { ShownReceipt } from './admin-receipt-image'
import { PdfPage } from './admin-receipt-page'
import { pdfFault } from './pdf-fault'

GlobalWorkerOptions.workerSrc = workerUrl

// Beside the build; while developing, where the package lies.
const files = import.meta.env.DEV ? '/node_modules/pdfjs-dist' : `/assets/pdfjs-${version}`

// One with more would take the memory of the whole browser.
const largestImage = 100_000_000

/** A file that a stranger made: nothing of it is run, and the page's policy allows no WebAssembly. */
function open(bytes: ArrayBuffer) {
  return getDocument({
    // The worker takes what it is given away.
    data: bytes.slice(0),
    cMapUrl: `${files}/cmaps/`,
    standardFontDataUrl: `${files}/standard_fonts/`,
    wasmUrl: `${files}/wasm/`,
    useWasm: false,
    enableXfa: false,
    maxImageSize: largestImage,
  })
}

// So many pages stand ready below the one that is looked at.
const ahead = 5

interface ReceiptPagesProps extends Pick<ShownReceipt, 'scale' | 'turned'> {
  bytes: ArrayBuffer
  label: string
}

/** Every page of a PDF, one below the other. pdf.js comes with this file alone: only who opens a PDF loads it. */
export default function ReceiptPages({ bytes, label, ...look }: ReceiptPagesProps) {
  const [pdf, setPdf] = useState<PDFDocumentProxy | null>(null)
  const [fault, setFault] = useState<string | null>(null)
  const [reached, setReached] = useState(1)

  const reach = useCallback((number: number) => setReached((before) => Math.max(before, number)), [])

  useEffect(() => {
    const task = open(bytes)
    let closed = false
    task.promise.then(
      (opened) => !closed && setPdf(opened),
      (error: unknown) => !closed && setFault(pdfFault(error)),
    )
    return () => {
      closed = true
      void task.destroy()
    }
  }, [bytes])

  if (fault !== null) {
    return (
      <Notice tone="negative" role="alert">
        {fault}
      </Notice>
    )
  }
  if (pdf === null) return <Skeleton className="h-96 w-full" />
  const shown = Math.min(pdf.numPages, reached + ahead)
  return (
    <>
      <p role="status" className="mb-2 text-compact text-muted-foreground">
        {pdf.numPages === 1 ? '1 page' : `${pdf.numPages} pages`}
      </p>
      <div
        role="group"
        aria-label={label}
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keys
        tabIndex={0}
        className="max-h-[60dvh] space-y-2 overflow-auto rounded-control border bg-muted"
      >
        {Array.from({ length: shown }, (_, index) => (
          <PdfPage key={index} pdf={pdf} number={index + 1} onNear={reach} {...look} />
        ))}
      </div>
    </>
  )
}
