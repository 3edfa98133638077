;;; drive.el --- What the tests drive Emacs with: one function that runs Lisp and answers JSON.  -*- lexical-binding: t -*-

(require 'json)
(require 'cl-lib)
(require 'flymake)

(defvar drive-chosen nil)
(defvar drive-questions nil)
(defvar drive-buffer (current-buffer) "The one that the person looks at.")

;; There is nobody at the keyboard: menus take the choice that the test has made.
(defun drive-choose (prompt choices &rest _)
  (push prompt drive-questions)
  (or (cl-find drive-chosen (all-completions "" choices) :test #'equal)
      (signal 'quit nil)))
(advice-add 'completing-read :override #'drive-choose)

(defun drive-wait (condition seconds)
  "Wait until CONDITION is true; its value."
  (let ((deadline (+ (float-time) seconds)) found)
    (while (not (setq found (funcall condition)))
      (when (> (float-time) deadline)
        (error "not in time; messages: %s" (with-current-buffer (messages-buffer) (buffer-string))))
      (accept-process-output nil 0.02))
    found))

(defun drive-edit (file)
  "Visit FILE as a command would."
  (switch-to-buffer (setq drive-buffer (find-file-noselect file)))
  (run-hooks 'post-command-hook)
  (drive-wait (lambda () (or (not (derived-mode-p 'donewhen-goal-mode)) (eglot-managed-p))) 30)
  t)

(defun drive-marks (file)
  "The diagnostics of FILE, from the top: line, column, type and text."
  (let ((buffer (find-buffer-visiting file)))
    (vconcat
     (if (and buffer (buffer-local-value 'flymake-mode buffer))
         (with-current-buffer buffer
           (save-excursion
             (mapcar (lambda (one)
                       (goto-char (flymake-diagnostic-beg one))
                       (list :line (1- (line-number-at-pos))
                             :column (current-column)
                             :type (symbol-name (flymake-diagnostic-type one))
                             :text (flymake-diagnostic-text one)))
                     (sort (flymake-diagnostics)
                           (lambda (a b) (< (flymake-diagnostic-beg a) (flymake-diagnostic-beg b)))))))
       (mapcar (lambda (one) (list :text (flymake-diagnostic-text one)))
               (cdr (cl-assoc file flymake-list-only-diagnostics :test #'file-equal-p)))))))

(defun drive (code)
  (condition-case problem
      (json-serialize (list :value (with-current-buffer drive-buffer
                                 (eval (car (read-from-string (format "(progn %s)" code))) t))))
    ((error quit) (json-serialize (list :problem (format "%S" problem))))))
