(defstruct node
  key
  value
  (left nil)
  (right nil))

(defun tree-find (tree key)
  "The value of KEY in TREE."
  (cond ((null tree) nil)
        ((< key (node-key tree))
         (tree-find (node-left tree) key))
        ((> key (node-key tree))
         (tree-find (node-right tree) key))
        (t (node-value tree))))

(defun tree-insert (tree key value)
  (if (null tree)
      (make-node :key key :value value)
      (progn
        (cond ((< key (node-key tree))
               (setf (node-left tree)
                     (tree-insert (node-left tree) key value)))
              ((> key (node-key tree))
               (setf (node-right tree)
                     (tree-insert (node-right tree) key value)))
              (t
               (setf (node-value tree) value)))
        tree)))

(defun tree-walk (tree f)
  (when tree
    (tree-walk (node-left tree) f)
    (funcall f
             (node-key tree)
             (node-value tree))
    (tree-walk (node-right tree) f)))
