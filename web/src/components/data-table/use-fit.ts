import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'

const nothing: readonly string[] = []

/**
 * Which columns a table leaves out for want of room, of those that may go, in their order. It is measured, as what
 * stands in the cells decides: the box says its width, the table the least that it needs.
 */
export function useFit(spare: readonly string[], columns: string, rows: string) {
  const box = useRef<HTMLDivElement>(null)
  const [left, setLeft] = useState(0)
  const [fits, setFits] = useState(true)
  const [measured, setMeasured] = useState(columns)
  // Other columns or another density: all may have room again. Other rows bring none back, so that nothing jumps.
  if (measured !== columns) {
    setMeasured(columns)
    setLeft(0)
  }

  const most = spare.length
  const measure = useCallback(() => {
    const table = box.current?.querySelector('table')
    if (!box.current || !table) return
    const over = table.offsetWidth > box.current.clientWidth
    if (over && left < most) setLeft(left + 1)
    else setFits(!over)
  }, [left, most])
  // Each column that is left out is followed by another look, before anything is drawn.
  useLayoutEffect(measure, [measure, columns, rows])

  const latest = useRef(measure)
  useEffect(() => {
    latest.current = measure
  })
  useEffect(() => {
    const element = box.current
    if (!element) return
    let width = element.clientWidth
    const observer = new ResizeObserver(() => {
      // A scroll bar that comes and goes with a column would do so for ever.
      if (element.clientWidth > width + 20) setLeft(0)
      else latest.current()
      width = element.clientWidth
    })
    observer.observe(element)
    const table = element.querySelector('table')
    if (table) observer.observe(table)
    return () => observer.disconnect()
  }, [])

  return { box, fits, dropped: left === 0 ? nothing : spare.slice(0, left) }
}
